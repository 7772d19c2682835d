"""A damaged run is drawn as far as it goes or refused in one sentence; it never ends in a traceback."""

import json
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from altair.utils import schemapi
from finished_runs import FINISHED

import wherewhat as ww
from wherewhat.cli.main import main
from wherewhat.errors import UserError
from wherewhat.runs.base import Run
from wherewhat.tables.parquet import SHA256
from wherewhat.tables.schema import KEYS

MISSING = object()
DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
WRONG: tuple[Any, ...] = (
    *(None, MISSING, "text", "\ud800", True, 7, -1, 1.5, 10**30, float("nan"), float("inf"), 1e308),
    *([], {}, ["text"], [None], [1, 2, 3], [[[]]], {"a": {"b": 1}}, DEEP),
)
SAMPLED = 25  # of the hundreds of ways to damage each manifest, and of those to damage tables
Case = tuple[str, Callable[[Path], None]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a finished run, written once."""
    home, made = tmp_path_factory.mktemp("runs"), dict[str, Path]()

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = FINISHED[kind]().save(home / kind)
        return made[kind]

    return folder


@pytest.fixture(autouse=True)
def unvalidated() -> Iterator[None]:
    """Charts are as they are in other tests; validating each of them again takes longer than drawing it."""
    with schemapi.debug_mode(False):
        yield


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a manifest: of a list the first, of many fields the first few."""
    fields = list(value.items()) if isinstance(value, dict) else list(enumerate(value[:1]))
    for name, inner in fields if not above else fields[:8]:
        yield (*above, name)
        if isinstance(inner, dict | list):
            yield from places(inner, (*above, name))


def damaged(manifest: Any, place: tuple[Any, ...], wrong: Any) -> str:
    """The manifest with something else in one place."""
    manifest = json.loads(json.dumps(manifest))
    inner = manifest
    for name in place[:-1]:
        inner = inner[name]
    if wrong is MISSING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = wrong
    return json.dumps(manifest)


def of_manifest(folder: Path) -> Iterator[Case]:
    """Something else in every place, and what is no manifest at all."""
    text = (folder / "manifest.json").read_text()
    manifest = json.loads(text)
    for place in places(manifest):
        for wrong in WRONG if place[0] != SHA256 else ():
            yield f"{place} is {str(wrong)[:20]}", told("manifest.json", damaged(manifest, place, wrong))
    nested = "[" * 100_000 + "]" * 100_000
    for other in ("", "{", "null", "[]", "7", text[: len(text) // 2], nested, f'{{"scores": {nested}}}', "\x00"):
        yield f"the manifest is {other[:20]!r}", told("manifest.json", other)


def of_tables(folder: Path) -> Iterator[Case]:
    """Every column without some or all of what it must hold, and files that are no tables."""
    for path in sorted(folder.glob("*.parquet")):
        table, name = pl.read_parquet(path), path.name
        for column in table.columns:
            text = table.schema[column] == pl.String
            wrong = [pl.lit(7) if text else pl.lit("text"), pl.lit([1]), pl.lit(None), pl.lit(True)]
            wrong += (
                [] if text else [pl.lit(-1), pl.lit(2**40), pl.lit(float("inf")), pl.lit(float("nan")), pl.lit(0.5)]
            )
            yield f"{name} lacks {column}", saved(name, table.drop(column))
            for other in wrong:
                yield f"{name} has {other} in {column}", saved(name, table.with_columns(other.alias(column)))
        yield f"{name} is empty", saved(name, table.clear())
        yield f"{name} has one row", saved(name, table.head(1))
        yield f"{name} has rows twice", saved(name, pl.concat([table, table]))
        yield f"{name} is missing", gone(name)
        yield f"{name} is a folder", gone(name, folder=True)


def of_bytes(folder: Path) -> Iterator[Case]:
    """Files that are cut short, or that are no tables."""
    for path in sorted(folder.glob("*.parquet")):
        data = path.read_bytes()
        for part in (b"", b"PAR1", data[:-9], data[: len(data) // 2], bytes(100), data[:60] + bytes(40) + data[100:]):
            yield f"{path.name} is {part[:9]!r}", told(path.name, part)


def told(name: str, content: str | bytes) -> Callable[[Path], None]:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return lambda folder: void((folder / name).write_bytes(data))


def saved(name: str, table: pl.DataFrame) -> Callable[[Path], None]:
    return lambda folder: table.write_parquet(folder / name)


def gone(name: str, *, folder: bool = False) -> Callable[[Path], None]:
    def take(run: Path) -> None:
        (run / name).unlink()
        if folder:
            (run / name).mkdir()

    return take


def void(_: object) -> None: ...


def drawn_or_refused(folder: Path, damage: Case, capsys: pytest.CaptureFixture[str], copy: Path) -> int:
    """Damage a copy of a run and have its report drawn; tell what came of it."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    what, do = damage
    do(copy)
    began = time.process_time()
    code = main(["report", str(copy), "--quiet"])
    said = capsys.readouterr().err
    assert time.process_time() - began < 10, what
    assert code in (0, 2), f"{what}:\n{said}"
    if code == 2:
        assert said.startswith("wherewhat: ") and said.count("\n") == 1 and len(said) < 600, f"{what}: {said}"
    else:
        assert said == "", f"{what}: {said}"
    return code


@pytest.mark.parametrize("of", [of_manifest, of_tables], ids=["manifest", "tables"])
@pytest.mark.parametrize("kind", FINISHED)
def test_damage_of_all_kinds(kind: str, of: Callable[[Path], Iterator[Case]], finished, tmp_path: Path, capsys):
    folder = Path(shutil.copytree(finished(kind), tmp_path / "run"))
    if of is of_tables:
        changed(folder, (SHA256,), MISSING)  # else every table that was changed is tried by another process first
    cases = random.Random(kind).sample(list(of(folder)), SAMPLED)
    codes = [drawn_or_refused(folder, case, capsys, tmp_path / "copy") for case in cases]
    assert codes.count(2) > SAMPLED / 3


@pytest.mark.parametrize("kind", ["edit", "reproduce syntax"])
def test_files_that_are_no_tables(kind: str, finished, tmp_path: Path, capsys):
    codes = [drawn_or_refused(finished(kind), case, capsys, tmp_path / "copy") for case in of_bytes(finished(kind))]
    assert set(codes) == {2}


def test_bytes_that_end_the_process_that_reads_them(finished, tmp_path: Path, capsys):
    """Random bytes in a table make polars raise, panic or abort; here it is refused, or drawn where it can be."""
    path, draw, codes = finished("edit") / "edit.parquet", random.Random(0), []
    for _ in range(8):
        data = bytearray(path.read_bytes())
        for _ in range(12):
            data[draw.randrange(len(data) // 2, len(data))] = draw.randrange(256)
        case = ("random bytes", told(path.name, bytes(data)))
        codes.append(drawn_or_refused(finished("edit"), case, capsys, tmp_path / "copy"))
    assert set(codes) <= {0, 2} and 2 in codes


@pytest.mark.parametrize("kind", FINISHED)
def test_a_run_that_is_whole_is_drawn(kind: str, finished: Callable[[str], Path], tmp_path: Path, capsys):
    assert drawn_or_refused(finished(kind), ("nothing", lambda folder: None), capsys, tmp_path / "copy") == 0
    assert isinstance(ww.load(finished(kind)), Run)


def changed(folder: Path, place: tuple[Any, ...], wrong: Any) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    told("manifest.json", damaged(manifest, place, wrong))(folder)


@pytest.mark.parametrize(
    ("place", "wrong", "said"),
    [
        (("model",), "tiny", "'model' is \"tiny\", not an object; run the command again with --overwrite"),
        (("model", "layers"), -1, "'model.layers' is -1, not a whole number from 0 to 999999;"),
        (("model", "layers"), 10**9, "'model.layers' is 1000000000, not a whole number from 0 to 999999;"),
        (("seconds",), True, "'seconds' is true, not a number;"),
        (("seconds",), float("nan"), "'seconds' is not a finite number of usual size;"),
        (("layers", 0, "layer"), MISSING, "'layers[0].layer' is missing;"),
        (("scores", "entropy", "range"), [0], "'scores.entropy.range' is [0], not a list of 2;"),
        (("notes",), "\ud800", "'notes' is text that is broken;"),
        (("notes",), DEEP, "is nested too deeply;"),
        (("notes",), ["x", 7], "'notes[1]' is 7, not a text;"),
        (("schema",), 1, "has schema version 1, and this version of wherewhat reads version 2;"),
        (("schema",), MISSING, "has no schema version, and this version of wherewhat reads version 2;"),
        (("kind",), ["heads"], "holds a run of `wherewhat ['heads']`, which has no report; name another folder"),
    ],
)
def test_the_sentence_names_the_field(place, wrong, said: str, finished: Callable[[str], Path], tmp_path: Path):
    folder = Path(shutil.copytree(finished("heads"), tmp_path / "run"))
    changed(folder, place, wrong)
    with pytest.raises(UserError) as error:
        ww.load(folder)
    assert said in error.value.typed


@pytest.mark.parametrize(
    ("column", "wrong", "said"),
    [
        ("layer", pl.lit("one"), "its column 'layer' holds String, not whole numbers (Int32);"),
        ("layer", pl.lit(2**40), "its column 'layer' holds Int64, not whole numbers (Int32);"),
        ("layer", pl.lit(-1, pl.Int32), "its column 'layer' holds -1, outside 0 to 1000000;"),
        ("head", pl.lit(None, pl.Int32), "its column 'head' lacks "),
        ("score", pl.lit(1.0), "its column 'score' holds Float64, not text;"),
        ("value", pl.lit("high"), "its column 'value' holds String, not numbers;"),
        ("value", pl.lit(float("inf")), "its column 'value' holds an infinite number;"),
        ("texts", pl.lit(-3), "its column 'texts' holds -3, outside 0 to "),
    ],
)
def test_the_sentence_names_the_column(column: str, wrong, said: str, finished: Callable[[str], Path], tmp_path: Path):
    folder = Path(shutil.copytree(finished("heads"), tmp_path / "run"))
    table = pl.read_parquet(folder / "heads.parquet").with_columns(wrong.alias(column))
    table.write_parquet(folder / "heads.parquet")
    with pytest.raises(UserError) as error:
        ww.load(folder)
    assert f"{folder / 'heads.parquet'} cannot be used: {said}" in error.value.typed
    assert error.value.typed.endswith("; run the command again with --overwrite")


def test_a_damaged_profile_is_not_compared(finished: Callable[[str], Path], tmp_path: Path, capsys):
    one, other = (shutil.copytree(finished("heads"), tmp_path / name) for name in ("one", "other"))
    changed(Path(other), ("model", "heads"), "many")
    assert main(["compare", str(one), str(other), "--out", str(tmp_path / "out"), "--quiet"]) == 2
    assert "'model.heads' is \"many\", not a whole number" in capsys.readouterr().err


def test_other_types_that_lose_nothing_are_taken(finished: Callable[[str], Path], tmp_path: Path):
    folder = Path(shutil.copytree(finished("heads"), tmp_path / "run"))
    before = pl.read_parquet(folder / "heads.parquet")
    wider = before.with_columns(pl.col("layer").cast(pl.Int64), pl.col("score").cast(pl.Categorical))
    wider.write_parquet(folder / "heads.parquet")
    assert ww.load(folder).heads.equals(before)  # type: ignore[attr-defined]


def test_a_bug_is_told_from_a_change(finished: Callable[[str], Path], tmp_path: Path, capsys, monkeypatch):
    def broken(*given: Any) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("wherewhat.report.pages.edit.page.page_of_edit", broken)
    folder = Path(shutil.copytree(finished("edit"), tmp_path / "run"))
    assert main(["report", str(folder)]) == 1
    assert "this is a bug in wherewhat" in capsys.readouterr().err
    changes: dict[str, Callable[[], None]] = {
        "manifest.json was changed after it was written": lambda: changed(folder, ("seed",), 8),
        "edit.parquet was changed after it was written": lambda: (
            pl.read_parquet(folder / "edit.parquet").head(3).write_parquet(folder / "edit.parquet")
        ),
        "has no hashes of its tables": lambda: changed(folder, (SHA256,), MISSING),
    }
    for said, change in changes.items():
        shutil.rmtree(folder)
        shutil.copytree(finished("edit"), folder)
        change()
        assert main(["report", str(folder)]) == 2
        heard = capsys.readouterr().err
        assert f"no page can be drawn from {folder}" in heard and said in heard and "ZeroDivisionError of ours" in heard


def test_every_table_has_its_keys():
    assert {name for kind in FINISHED.values() for name in kind().tables} <= set(KEYS)
