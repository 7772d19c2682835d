"""The engine of all studies: jobs that resume, one table, verdicts that need seeds, and rooms that stay apart."""

import ast
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest

from wherewhat.errors import UserError
from wherewhat.stats.intervals import over_seeds
from wherewhat.studies import registry
from wherewhat.studies.engine.claims import Claim, Verdict, judge, short_answer
from wherewhat.studies.engine.results import Cell, ResultTable, Row, paired, table_of
from wherewhat.studies.engine.study import OF_STUDY, Request, Study, of_run, work
from wherewhat.studies.pages import PAGES

STUDIES = Path(__file__).resolve().parents[2] / "src" / "wherewhat" / "studies"
HEIGHT = Cell("height", "metres")


@dataclass(frozen=True)
class Tree:
    """A condition."""

    name: str
    height: float


@dataclass(frozen=True)
class Forest:
    """A scale."""

    trees: tuple[Tree, ...] = field(default=(Tree("oak", 3.0), Tree("birch", 2.0)), metadata=OF_STUDY)
    seeds: int = field(default=3, metadata=OF_STUDY)
    growth: float = 0.5
    steps: int = 4


def grow(condition: Tree, scale: Forest, seed: int, context) -> Iterator[Row]:
    with (context.folder / "began").open("a") as starts:
        starts.write("x")
    context.step(scale.steps)
    height = condition.height + scale.growth * seed + (0.1 if condition.name == "oak" else 0.0) * seed
    yield "height", condition.name, "", None, seed, "metres", height, None, None


def taller(table: ResultTable) -> Verdict:
    gap = table.difference(["oak"], ["birch"], HEIGHT)
    return Verdict(f"{gap.plain()} metres", "agrees" if gap.side > 0 else "unknown", because="by far")


def means(table: ResultTable) -> Iterator[Row]:
    for tree in table.conditions:
        yield "mean", tree.name, "", None, None, "metres", *table.mean([tree.name], HEIGHT).numbers


STUDY = Study(
    name="trees",
    about="Which tree is taller?",
    paper="ours",
    scales={"tiny": Forest()},
    conditions=lambda scale: scale.trees,
    run=grow,
    condition_class=Tree,
    scale_class=Forest,
    claims={"taller": Claim("Oaks are taller.", "yes", taller, {"agrees": "Oaks win", "unknown": "Unclear"})},
    decides=("names.py",),
    before=lambda table: [("seed", "acorn", "", None, None, "grams", 5.0, None, None)],
    summarise=means,
    notes=lambda table: [f"{len(table.seeds)} seeds"],
    describe=lambda table: {"trees": len(table.conditions)},
)


def test_rows_keep_their_order_and_claims_are_judged_from_the_table():
    result = STUDY.reproduce(Request(engine="inline", seed=2))
    assert result.result["part"].to_list() == ["seed", *["height"] * 6, "mean", "mean"]
    assert result.result["subject"].to_list()[1:7] == ["oak", "birch"] * 3
    assert result.result["seed"].to_list()[1:7] == [2, 2, 3, 3, 4, 4]
    assert result.claims[0].verdict == "agrees" and result.claims[0].ours == "+1.30 (+1.05 to +1.55) metres"
    assert result.about["answers"] == {"taller": {"lead": "Oaks win: by far", "rest": result.claims[0].ours}}
    assert result.about["trees"] == 2 and result.notes == ("3 seeds",)
    assert result.settings["seeds"] == [2, 3, 4] and result.settings["growth"] == 0.5


@pytest.mark.parametrize("workers", [1, 2])
def test_engine_and_workers_change_nothing(workers: int, tmp_path: Path):
    inline = STUDY.reproduce(Request(engine="inline"))
    local = STUDY.reproduce(Request(engine="local", workers=workers, folder=tmp_path))
    assert inline.result.equals(local.result) and inline.claims == local.claims


def began(folder: Path) -> dict[str, int]:
    return {path.parent.name: len(path.read_text()) for path in sorted((folder / "runs").glob("*/began"))}


def test_a_larger_study_finds_the_runs_of_a_smaller_one(tmp_path: Path):
    STUDY.reproduce(Request(engine="inline", folder=tmp_path, seeds=1))
    more = replace(Forest(), trees=(*Forest().trees, Tree("fir", 4.0)))
    larger = STUDY.reproduce(Request(engine="inline", folder=tmp_path, resume=True, scale=more))
    assert began(tmp_path)["oak-seed-0"] == 1 and len(began(tmp_path)) == 9
    assert larger.result.filter(part="height").height == 9


def test_a_scale_of_a_run_has_only_what_it_depends_on():
    scale = of_run(Forest(growth=0.7))
    assert (scale.trees, scale.seeds, scale.growth) == ((), 0, 0.7)


def test_a_job_is_rebuilt_from_its_json(tmp_path: Path):
    job = STUDY.job(Tree("oak", 3.0), Forest(), 2)
    assert job.name == "oak, seed 2" and job.steps == 4 and job.settings["study"] == __name__

    @dataclass
    class Context:
        folder: Path

        def step(self, done: int) -> None:
            assert done == 4

    assert work(job.settings, Context(tmp_path)) == [("height", "oak", "", None, 2, "metres", 4.2, None, None)]


def test_one_run_may_train_all_seeds():
    together = replace(STUDY, together=True, summarise=lambda table: [], claims={})
    jobs: list[str] = []
    result = together.reproduce(Request(engine="inline", on_step=lambda done, of, note: jobs.append(note)))
    assert result.result.filter(part="height")["seed"].to_list() == [0, 0]
    assert set(jobs) >= {"oak", "birch"}


def test_numbers_of_a_table_are_those_of_plain_loops():
    rows = [
        ("part", name, "a", 1.0, seed, "share", value, None, None)
        for name, values in {"x": (0.1, 0.4, 0.6), "y": (0.2, 0.2, 0.9)}.items()
        for seed, value in enumerate(values)
    ]
    table = table_of([*rows, ("part", "x", "a", 1.0, None, "share", 0.3, 0.1, 0.5)])
    cell = Cell("part", "share", "a", 1.0)
    assert table.seeds == [0, 1, 2]
    assert table.by_seed(["x", "y"], cell) == [fmean((0.1, 0.2)), fmean((0.4, 0.2)), fmean((0.6, 0.9))]
    assert table.mean(["x"], cell) == over_seeds([0.1, 0.4, 0.6])
    assert table.difference(["x"], ["y"], cell) == paired([0.1, 0.4, 0.6], [0.2, 0.2, 0.9])
    assert table.row("x", cell) is not None and table.row("x", cell)["high"] == 0.5  # type: ignore[index]
    assert table.row("z", cell) is None and math.isnan(table.value("z", cell))
    assert all(math.isnan(value) for value in (*table.by_seed([], cell), *table.by_seed(["z"], cell)))
    assert table.where(seed=None)["value"].to_list() == [0.3] and table.where(part="other").is_empty()


TOO_FEW = "Fewer than 3 seeds decide nothing."


def test_too_few_seeds_decide_nothing():
    claim = Claim(
        "It holds.",
        "yes",
        lambda table: Verdict("0.5", "agrees", "why", "because", answer="It does"),
        {"unknown": "Open"},
    )
    rows = [("part", "x", "", None, seed, "share", 0.5, None, None) for seed in range(2)]
    few, enough = table_of(rows), table_of([*rows, ("part", "x", "", None, 2, "share", 0.5, None, None)])
    assert judge(claim, few).verdict == "unknown" and judge(claim, few).why == TOO_FEW
    assert short_answer(claim, judge(claim, few)) == {"lead": "Open", "rest": f"{TOO_FEW} 0.5"}
    assert judge(claim, enough).verdict == "agrees"
    assert short_answer(claim, judge(claim, enough)) == {"lead": "It does: because", "rest": "0.5"}
    assert judge(claim, few, fewest=1).verdict == "agrees"
    assert judge(claim, few, fewest=5).why == "Fewer than 5 seeds decide nothing."


def modules(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*/*.py")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_study_imports_another(path: Path):
    own = {"engine", path.parent.name}
    studies = {module.split(".")[2] for module in modules(path) if module.startswith("wherewhat.studies.")}
    assert studies <= own


@pytest.mark.parametrize("module", PAGES.values())
def test_pages_need_no_torch(module: str):
    script = f"import sys, {module}; sys.exit('torch' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_table_has_the_columns_of_a_result():
    assert table_of([]).rows.schema == STUDY.reproduce(Request(engine="inline")).result.schema
    assert isinstance(table_of([]).rows, pl.DataFrame)


@pytest.mark.parametrize(
    "rows", [[], [["height", "oak"]], [["height"] * 9], 5], ids=["none", "short", "types", "number"]
)
def test_damaged_rows_of_a_finished_run_are_refused(rows: object, tmp_path: Path):
    STUDY.reproduce(Request(engine="inline", folder=tmp_path))
    path = tmp_path / "runs" / "oak-seed-0" / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "result": rows}))
    sentence = f"{path} is damaged (its rows are incomplete); delete {path}, and that run is repeated"
    with pytest.raises(UserError, match=re.escape(sentence)):
        STUDY.reproduce(Request(engine="inline", folder=tmp_path, resume=True))
    path.unlink()
    assert STUDY.reproduce(Request(engine="inline", folder=tmp_path, resume=True)).result.height == 9


def test_a_run_without_rows_is_our_mistake_and_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    silent = replace(STUDY, run=lambda condition, scale, seed, context: iter(()))
    monkeypatch.setattr(sys.modules[__name__], "STUDY", silent)
    with pytest.raises(RuntimeError, match="a run of trees gave no rows"):
        silent.reproduce(Request(engine="inline", folder=tmp_path))
    assert not list(tmp_path.rglob("result.json"))


def test_a_request_is_checked_before_finished_runs_are_deleted(tmp_path: Path):
    STUDY.reproduce(Request(engine="inline", folder=tmp_path))
    twins, none = (replace(Forest(), trees=trees) for trees in ((Tree("oak", 1.0), Tree("oak", 2.0)), ()))
    for scale, sentence in (
        (twins, "does not give a run a folder of its own"),
        (none, "trees has no conditions at this"),
    ):
        with pytest.raises(UserError, match=sentence):
            STUDY.reproduce(Request(engine="inline", folder=tmp_path, overwrite=True, scale=scale))
    assert len(list(tmp_path.rglob("result.json"))) == 6


@dataclass(frozen=True)
class Sample:
    """A scale in which nothing is not the default."""

    count: int | None = 64
    seeds: int = 1
    steps: int = 1
    sizes: tuple[float, ...] = ()


def test_nothing_comes_back_from_json_as_nothing_and_what_does_not_come_back_is_refused():
    study = replace(STUDY, scale_class=Sample)
    job = study.job(Tree("oak", 3.0), Sample(count=None), 0)
    assert study.decoded(job.settings) == (Tree("oak", 3.0), Sample(count=None))
    with pytest.raises(RuntimeError, match="do not come back from JSON; use plain values and tuples"):
        study.job(Tree("oak", 3.0), Sample(sizes=[1.0]), 0)  # type: ignore[arg-type]


def test_the_code_of_a_study_decides_on_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for number in (1, 2):
        (tmp_path / f"grower{number}.py").write_text(f"def run(*_):\n    '''{number}'''\n    return {number}\n")
    codes = {number: replace(STUDY, run=import_module(f"grower{number}").run).code for number in (1, 2)}
    assert codes[1] != codes[2] != STUDY.code


def uses(path: Path, first: str) -> set[str]:
    """All names that a function of a file refers to, also through other functions and values of the file."""
    names = {
        name: {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for node in ast.parse(path.read_text()).body
        for name in defined(node)
    }
    used, left = set[str](), {first}
    while left:
        used |= left
        left = set().union(*(names.get(name, ()) for name in left)) - used
    return used


def defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]


def siblings_used(run: Path, first: str) -> set[Path]:
    """The modules beside a file that one of its functions uses."""
    used, siblings = uses(run, first), set[Path]()
    for node in ast.walk(ast.parse(run.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"wherewhat.studies.{run.parent.name}"):
            folder = STUDIES.parent.joinpath(*(node.module or "").split(".")[1:])
            for alias in node.names:
                if (alias.asname or alias.name) in used:
                    modules = (folder / f"{alias.name}.py", folder.with_suffix(".py"), folder / "__init__.py")
                    siblings.add(next(path for path in modules if path.exists()))
    return siblings


OF_RUNS = [name for name, study in registry.STUDIES.items() if isinstance(study, Study)]


@pytest.mark.parametrize("name", OF_RUNS)
def test_the_hash_of_a_run_covers_all_modules_of_its_study_that_the_run_uses(name: str):
    study = registry.STUDIES[name]
    assert isinstance(study, Study)
    own = {each.__module__ for each in (study.run, study.scale_class, study.condition_class)}
    covered = [Path(str(import_module(module).__file__)) for module in own]
    covered += [STUDIES.parent / part for part in study.decides]
    used = siblings_used(Path(str(import_module(study.run.__module__).__file__)), study.run.__name__)
    assert used, "every run has settings of its own"
    missing = {path.name for path in used if not any(path.is_relative_to(each) for each in covered)}
    assert not missing, f"changing {missing} would change runs of {name} that are kept"


@pytest.mark.parametrize("name", OF_RUNS)
def test_scales_and_conditions_of_every_study_come_back_from_json(name: str):
    study = registry.STUDIES[name]
    assert isinstance(study, Study)
    for scale in study.scales.values():
        for condition in study.conditions(scale):
            assert study.job(condition, scale, 0).settings["seed"] == 0  # which refuses what does not come back


def test_a_trend_is_a_slope_by_seed():
    rows = [
        ("part", name, "", None, seed, "share", x * (seed + 1.0), None, None)
        for name, x in GROWING.items()
        for seed in range(3)
    ]
    assert table_of(rows).trend(GROWING, Cell("part", "share")).value == pytest.approx(2.0)


GROWING = {"a": 0.0, "b": 1.0, "c": 3.0}
