"""The whole probe on small random nets: what is written down, what is left out, several treebanks, and bad input."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reading_nets import reads

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.probing.dependencies.probe import probe_dependencies
from wherewhat.probing.dependencies.settings import PARTS, DependencySettings
from wherewhat.probing.dependencies.treebanks import ELSEWHERE, NO_RELATION, TOO_LONG, load_treebanks, side_by_side
from wherewhat.runs.registry import ProbeRun
from wherewhat.tables.schema import PROBE

SMALL: dict[str, Any] = {"max_sentences": 30, "permutations": 2, "copies": 3, "least": 10}


@pytest.fixture(scope="module")
def found() -> ProbeRun:
    return probe_dependencies(reads(layers=2), **SMALL)


def conllu(path: Path, sentences: Sequence[Sentence], ids: Sequence[str]) -> Path:
    blocks = []
    for one, id in zip(sentences, ids, strict=True):
        columns = zip(one.words, one.upos, one.head, one.deprel, strict=True)
        lines = [f"{n}\t{w}\t{w}\t{t}\t_\t_\t{h}\t{r}\t_\t_" for n, (w, t, h, r) in enumerate(columns, start=1)]
        blocks.append("\n".join([f"# sent_id = {id}", *lines, "", ""]))
    path.write_text("".join(blocks))
    return path


def of(table: pl.DataFrame, **columns: object) -> pl.DataFrame:
    for name, value in columns.items():
        table = table.filter(pl.col(name).is_null() if value is None else pl.col(name) == value)
    return table


def test_the_table_has_every_kind_of_line(found: ProbeRun):
    table = found.probe
    assert dict(table.schema) == PROBE and table["probe"].unique().to_list() == ["dependencies"]
    held = of(table, item="all", side="to head", distance="all", head=None, measure="accuracy")
    assert held["kind"].to_list() == [*PARTS, "offset", "uniform", "uniform shuffled"]
    assert (held["low"] <= held["value"]).all() and (held["value"] <= held["high"]).all()
    heads = of(table, item="all", side="to dependent", kind="contextual", distance="all", measure="accuracy")
    assert heads.filter(pl.col("head").is_not_null()).select("layer", "head").rows() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    such = of(table, item="")
    assert set(such["measure"]) == {"fixed offset", "offset", "confidence", "with positional", "with contextual"}
    assert set(of(table, kind="order")["measure"]) == {"left", "distance", "median", "rows"}
    assert of(table, kind="link").is_empty()
    beyond = of(table, measure="beyond contextual", distance="all", item="all")
    assert beyond["kind"].to_list() == ["positional"] * 2
    chances = of(table, measure="p")
    assert chances["value"].is_between(0, 1).all() and "all" not in chances["item"].to_list()


def test_the_manifest_says_where_everything_came_from(found: ProbeRun):
    told = json.loads(json.dumps(found.manifest.to_dict(), allow_nan=False))
    assert told["probe"] == "dependencies" and told["way"] == "bidirectional" and told["aligned"] is False
    assert told["model"]["layers"] == 2 and told["model"]["heads"] == 4
    assert told["settings"]["parts"] == list(PARTS) and told["settings"]["least"] == 10
    (data,) = told["data"]
    assert data["name"] == "grammar" and data["sentences"] == 30 and data["hidden"] == {"to head": 0, "to dependent": 0}
    assert data["rows"]["to head"] == data["rows"]["to dependent"] == data["words"] - 30  # all but the roots
    assert data["pieces"] == data["words"] + data["removed"] and len(data["copied"]) == 3
    dropped = {(one["item"], one["side"]) for one in data["dropped"]}
    assert dropped and not dropped & set(found.probe.select("item", "side").rows())
    chosen = {(one["item"], one["side"], one["kind"], one["distance"]): one for one in told["chosen"]}
    assert len(chosen["all", "to head", "full", "all"]["heads"]) == 2
    assert set(chosen["all", "to head", "offset", "all"]["offsets"]) <= set(range(-5, 6)) - {0}
    assert {claim["id"] for claim in told["claims"]} <= {"near", "far", "crossing"}
    assert told["said"].startswith("grammar: head words found by the best head: full attention ")
    for word in ("position alone", "content alone", "uniform attention"):
        assert word in told["said"]
    for example in told["examples"]:
        assert example["words"][example["from"]] and set(example["looked"]) == set(PARTS)


def test_examples_name_partners_in_words(found: ProbeRun):
    (example,) = [one for one in found.manifest.examples if one.item == "det"]
    assert example.side == "to head" and example.partner > example.query
    assert example.words[example.query] in ("the", "a", "every", "some", "many", "no", "two", "these", "this")


def test_the_same_seed_gives_the_same_table(found: ProbeRun):
    again = probe_dependencies(reads(layers=2), **SMALL)
    assert again.probe.equals(found.probe)
    assert not probe_dependencies(reads(layers=2), seed=1, **SMALL).probe.equals(found.probe)


def test_only_what_is_asked_is_read():
    steps: list[tuple[int, int, str]] = []

    def step(done: int, of: int, note: str) -> None:
        steps.append((done, of, note))

    told = probe_dependencies(reads(), parts=("full",), on_step=step, **SMALL)
    assert steps[-1] == (30, 30, "grammar")
    assert set(told.probe["kind"]) == {"full", "offset", "uniform", "order"} and told.manifest.claims == []
    probe_dependencies(reads(), parts=("shuffled",), on_step=step, **SMALL)
    assert steps[-1] == (30, 30, "grammar")
    probe_dependencies(reads(), parts=("contextual",), on_step=step, **SMALL)
    assert steps[-1] == (60, 60, "grammar")
    probe_dependencies(reads(), parts=("positional",), on_step=step, **SMALL)
    lengths = {len(one.words) for one in Grammar().some("test", 30, seed=0)}
    assert steps[-1] == (30 + 3 * len(lengths),) * 2 + ("grammar",)


def test_a_part_is_the_same_whatever_is_read_beside_it(found: ProbeRun):
    for part in PARTS:
        alone = probe_dependencies(reads(layers=2), parts=(part,), **SMALL).probe
        here = (pl.col("kind") == part) & pl.col("head").is_not_null() & (pl.col("measure") == "accuracy")
        assert alone.filter(here).equals(found.probe.filter(here)), part


def test_sentences_that_are_too_long_are_left_out_and_said():
    said: list[str] = []
    told = probe_dependencies(reads(length=8), parts=("full",), say=said.append, **{**SMALL, "max_sentences": 60})
    (data,) = told.manifest.data
    many = data.skipped[TOO_LONG]
    short = [number for number, one in enumerate(Grammar().some("test", 600, seed=0)) if len(one.words) <= 8]
    assert data.sentences == 60 and many == short[59] + 1 - 60 > 5, "so many usable ones were asked for"
    assert f"grammar: {many} sentence(s) left out: {TOO_LONG}" in said


def test_a_model_that_sees_one_side_is_asked_what_it_sees():
    told = probe_dependencies(reads(kind="decoder"), **SMALL)
    assert told.manifest.way == "causal"
    (data,) = told.manifest.data
    assert data.rows["to head"] == data.hidden["to dependent"] > 0
    (note,) = [note for note in told.manifest.notes if "Never compare" in note]
    assert f"{sum(data.rows.values()):,} of {2 * sum(data.rows.values()):,} rows" in note
    assert {claim.verdict for claim in told.manifest.claims} <= {"seen", "not seen", "unknown"}
    assert (
        f"(those that come before: {data.rows['to head']} of {data.rows['to head'] + data.hidden['to head']})"
        in told.manifest.summary
    )
    left = of(told.probe, kind="order", item="det", measure="left")  # word order is about all governors
    assert left["value"].to_list() == [0.0]


def test_relations_with_few_rows_are_said_on_the_screen():
    said: list[str] = []
    told = probe_dependencies(reads(), parts=("full",), say=said.append, **SMALL)
    names = {one.item for one in told.manifest.data[0].dropped}
    assert f"grammar: {len(names)} relation(s) left out from one side or both: fewer than 10 rows" in said[-1]


def test_so_many_usable_sentences_of_a_file_are_taken(tmp_path: Path):
    path = conllu(tmp_path / "a.conllu", Grammar().some("test", 200, seed=1), [f"n{n}" for n in range(200)])
    (few,) = load_treebanks(reads(length=8), [path], DependencySettings(max_sentences=20))
    (more,) = load_treebanks(reads(length=8), [path], DependencySettings(max_sentences=200))
    assert len(few.sentences) == 20 and few.skipped and 20 < len(more.sentences) < 200
    numbers = [one.number for one in few.sentences]
    assert numbers == sorted(numbers) and max(numbers) > 60, "from all over the file"


def files(folder: Path, ids: Sequence[Sequence[str]]) -> list[Path]:
    sentences = Grammar().some("test", 200, seed=9)
    return [conllu(folder / f"{'abc'[n]}.conllu", sentences[: len(one)], one) for n, one in enumerate(ids)]


def test_the_same_sentences_are_read_together(tmp_path: Path):
    ids = [f"n{number}" for number in range(60)]
    told = probe_dependencies(reads(), files(tmp_path, [ids, ids[:50], ids]), **{**SMALL, "max_sentences": 100})
    assert told.manifest.aligned is True
    assert [one.name for one in told.manifest.data] == ["a", "b", "c"]
    assert {one.sentences for one in told.manifest.data} == {50}
    assert [one.skipped.get(ELSEWHERE, 0) for one in told.manifest.data] == [10, 0, 10]
    assert "The treebanks hold the same sentences" in told.manifest.notes[-1]
    link = of(told.probe, kind="link")
    assert link["data"].is_null().all() and set(link["measure"]) == {"pearson"}
    first, third = (of(told.probe, data=name).drop("data") for name in ("a", "c"))
    assert first.equals(third)  # the same sentences, drawn again alike


def test_other_sentences_are_read_by_themselves(tmp_path: Path):
    ids = [[f"{name}{number}" for number in range(60)] for name in "ab"]
    told = probe_dependencies(reads(), files(tmp_path, ids), parts=("full",), **SMALL)
    assert told.manifest.aligned is False
    assert [one.sentences for one in told.manifest.data] == [30, 30]
    assert of(told.probe, kind="link").is_empty()


def test_sentences_without_ids_are_never_taken_for_the_same(tmp_path: Path):
    paths = files(tmp_path, [[""] * 20, [""] * 20])
    banks = load_treebanks(reads(), paths, DependencySettings(max_sentences=10))
    assert side_by_side(banks) == (banks, False)
    assert [one.number for one in banks[0].sentences] == sorted(one.number for one in banks[0].sentences)


def test_a_sentence_of_one_word_has_nothing_to_find(tmp_path: Path):
    path = conllu(tmp_path / "a.conllu", Grammar().some("test", 20, seed=1), [f"n{n}" for n in range(20)])
    path.write_text("1\tsleep\tsleep\tVERB\t_\t_\t0\troot\t_\t_\n\n" + path.read_text())
    (bank,) = load_treebanks(reads(), [path], DependencySettings(max_sentences=100))
    assert bank.skipped == {NO_RELATION: 1} and len(bank.sentences) == 20


class Deaf:
    """A tokenizer that says nothing of where its pieces stand, and glues all of a text together."""

    is_fast = False
    unk_token_id = None
    all_special_ids: tuple[int, ...] = ()

    def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
        return {"input_ids": [len(text)]}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"parts": ("fall",)}, "unknown part 'fall'; did you mean 'full'?"),
        ({"parts": ()}, "no part of attention is named; name some of: full, positional, contextual, shuffled"),
        ({"selection": "both"}, "unknown selection 'both'"),
        ({"offsets": (0, 0)}, "the offsets go from 0 to 0, which holds none but 0; write them like -5..5"),
        ({"permutations": 0}, "permutations is 0; give at least 1"),
        ({"seed": -1}, "seed is -1; give a whole number from 0 to 2147483647"),
        ({"least": 1}, "least is 1; give at least 2"),
        ({"max_sentences": 1}, "max sentences is 1; give at least 2"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], sentence: str):
    with pytest.raises(UserError) as told:
        DependencySettings(**settings)
    assert str(told.value).startswith(sentence)


def test_bad_data_is_told_in_a_sentence(tmp_path: Path):
    sentences = Grammar().some("test", 20, seed=9)
    good = conllu(tmp_path / "good.conllu", sentences, [f"n{n}" for n in range(20)])
    with pytest.raises(UserError, match="good.conllu is given twice; name each file once"):
        probe_dependencies(reads(), [good, good])
    few = "good has [0-9]+ rows to score, and 5000 in both halves are needed; give more sentences, or a smaller"
    with pytest.raises(UserError, match=few):
        probe_dependencies(reads(), [good], parts=("full",), least=5000)
    strange = tmp_path / "strange.conllu"
    strange.write_text(re.sub(r"^(\d+)\t\w+", r"\1\tzzz", good.read_text(), flags=re.MULTILINE))
    with pytest.raises(UserError, match="tokens are unknown to the tokenizer"):
        probe_dependencies(reads(), [strange], parts=("full",))
    with pytest.raises(UserError, match=r"0 sentence\(s\) of grammar can be used \(320 longer than the model allows\)"):
        probe_dependencies(reads(length=2), max_sentences=20)
    deaf = LoadedModel("deaf", reads().module, Deaf())
    with pytest.raises(UserError, match="the tokenizer of deaf gives no character offsets"):
        probe_dependencies(deaf, max_sentences=20)
