"""Repeated random tokens: worked numbers, heads whose answer is known, what the model reads, and refusals."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from families import FAMILIES

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows
from wherewhat.capture.loading.load import LoadedModel, wrap_module
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.capture.tokens.encode import EncodedTexts
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.measurements.base import MeasurementResult, ProfileContext
from wherewhat.profiling.measurements.repeated import block_rows, draw_sequences, measure
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings, RepeatedSettings
from wherewhat.scores.base import Rows
from wherewhat.scores.patterns import PATTERNS, REPEATED_SCORES, answers
from wherewhat.tables.manifest.scores import RepeatedSection

PROBES = json.loads((Path(__file__).resolve().parents[1] / "vectors" / "probes.json").read_text())
CAUSAL = torch.ones(6, 6).tril().bool()
TOKENS = torch.tensor([0, 1, 2, 0, 1, 2])
NAMES = {score.name for score in REPEATED_SCORES}


class Around:
    """A tokenizer that puts a token before and one after every text."""

    cls_token_id, sep_token_id, all_special_ids, added_tokens_decoder = 1, 2, [0, 1, 2], {}

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [1, 2]}

    def __len__(self) -> int:
        return 99


def measure_repeats(model: LoadedModel, settings: RepeatedSettings) -> MeasurementResult:
    """Texts of its own are all that this measurement reads."""
    return measure(ProfileContext(model, EncodedTexts([], []), ProfileSettings(random=settings)))


def net(kind: str = "decoder", encoding: str = "rope", **more: int) -> Trunk:
    sizes = {"vocabulary": 40, "width": 16, "layers": 2, "heads": 2, "length": 64} | more
    return build(NetConfig(kind=kind, encoding=encoding, **sizes), seed=3).double()


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("where", "first"), [("scores", 0), ("scores_without_key_0", 1)])
def test_the_worked_numbers(pattern: str, where: str, first: int):
    """A key that is dropped is neither looked at nor visible."""
    allowed = CAUSAL & (torch.arange(6) >= first)
    attention = torch.tensor(PROBES["attention"], dtype=torch.float64)[None] * allowed
    known = PROBES[where][pattern]
    ours = answers(Rows(attention, torch.arange(6), allowed, TOKENS), pattern)
    assert {measure: float(value_H) for measure, (value_H, _, _) in ours.items()} == pytest.approx(
        {"": known["mass"], ".excess": known["excess"], ".argmax": known["argmax"]}
    )
    assert [float(rows_H) for _, rows_H, _ in ours.values()] == [known["rows"]] * 3
    assert ours[""][2] == pytest.approx(known["chance"])


def test_a_block_said_twice_has_as_many_rows_as_it_has_tokens():
    drawn = draw_sequences(wrap_module(net()), RepeatedSettings(length=9, sequences=3, seed=5))
    assert (drawn.first, drawn.first + 2 * drawn.length, len(drawn.ids)) == (0, 18, 3)
    for ids_T in drawn.ids:
        assert torch.equal(ids_T[:9], ids_T[9:]) and len(set(ids_T[:9].tolist())) == 9
        allowed = torch.ones(18, 18).tril().bool()
        rows = Rows(allowed[None].double(), torch.arange(18), allowed, ids_T)
        for pattern, back in (("duplicate", 9), ("induction", 8)):
            found_QK = PATTERNS[pattern](rows)
            assert found_QK.nonzero().tolist() == [[row, row - back] for row in range(9, 18)]


def test_a_head_that_does_it_has_all_of_it_and_even_attention_is_chance():
    length = 5
    allowed = torch.ones(10, 10).tril().bool()
    tokens = torch.arange(length).repeat(2)
    even = allowed / allowed.sum(-1, keepdim=True)
    for pattern, back in (("previous", 1), ("duplicate", length), ("induction", length - 1)):
        does = torch.diag(torch.ones(10 - back), -back).double()
        rows = Rows(torch.stack((does, even.double())), torch.arange(10), allowed, tokens)
        ours = answers(rows, pattern)
        assert [float(value_H[0]) for value_H, _, _ in ours.values()] == [1, 1, 1]
        assert float(ours[""][0][1]) == pytest.approx(ours[""][2]) and abs(float(ours[".excess"][0][1])) < 1e-12


def test_a_net_by_a_plain_loop_over_its_attention():
    model, repeating = net(kind="encoder", encoding="learned"), RepeatedSettings(length=4, sequences=3, seed=2)
    found = measure_repeats(wrap_module(model), repeating)
    shown: dict[tuple[int, int], torch.Tensor] = {}
    drawn = draw_sequences(wrap_module(model), repeating)
    with capture(model, lambda rows: shown.update({(rows.site.ordinal, rows.text): rows.attention_HQK})) as captured:
        for batch in batches(drawn.ids, queries=ALL, seed=0):
            captured.read(batch)
    for site, ours in found.summaries.items():
        theirs = [
            np.mean([shown[site.ordinal, text][:, row, row - 3].numpy() for row in range(4, 8)], axis=0)
            for text in range(3)
        ]
        assert ours["random.induction"].value_H == pytest.approx(np.mean(theirs, axis=0))
        assert ours["random.induction"].chance_H == pytest.approx(1 / 8), "an encoder sees all eight tokens"


def test_special_tokens_are_neither_rows_nor_keys():
    family = next(family for family in FAMILIES if family.name == "bert")
    model = replace(wrap_module(family.build().double()), tokenizer=Around())
    drawn = draw_sequences(model, RepeatedSettings(length=4, sequences=2))
    assert (drawn.first, drawn.first + 2 * drawn.length, len(drawn.ids[0])) == (1, 9, 10) and not {1, 2} & set(
        drawn.ids[0][1:9].tolist()
    )
    attention_rows = list[AttentionRows]()
    with capture(model.module, attention_rows.append) as captured:
        captured.read(next(batches(drawn.ids, queries=ALL, seed=0)))
    rows = block_rows(attention_rows[0], drawn)
    assert rows.queries_Q.tolist() == list(range(8)) and rows.attention_HQK.shape[1:] == (8, 8)
    assert torch.equal(rows.attention_HQK, attention_rows[0].attention_HQK[:, 1:9, 1:9].double())
    found = measure_repeats(model, RepeatedSettings(length=4, sequences=2))
    each = {"previous": 7, "duplicate": 4, "induction": 4}
    rows = {pattern: {"fewest": count, "most": count} for pattern, count in each.items()}
    assert found.section == RepeatedSection(length=4, sequences=2, special=2, rows=rows) and len(found.notes) == 1
    assert set(found.scores) == NAMES and len(NAMES) == 9


def test_what_a_window_hides_is_told():
    family = next(family for family in FAMILIES if family.name == "mistral")
    found = measure_repeats(wrap_module(family.build(sliding_window=3)), RepeatedSettings(length=8, sequences=2))
    assert found.section.rows["duplicate"] == {"fewest": 0, "most": 0}
    assert any(note.startswith("For random.duplicate, 0 to 0 rows of a sequence count") for note in found.notes)
    assert found.section.rows["previous"] == {"fewest": 15, "most": 15}


def test_the_profile_has_the_scores_when_asked_and_only_then():
    made = profile(net(), [torch.arange(12)], random=True, seed=4)
    assert {name for name in made.heads["score"] if name.startswith("random.")} == NAMES
    assert made.manifest.random.length == 32 and made.manifest.settings["random"]["seed"] == 4
    assert not any(name.startswith("random.") for name in profile(net(), [torch.arange(12)]).heads["score"])
    alone = profile(net(), [torch.arange(12)], random=True, scores=("random.induction", "entropy"))
    assert set(alone.heads["score"]) == {"random.induction", "entropy"}


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others():
    one, same, other = (
        profile(net(), [torch.arange(12)], random=True, scores=("random.previous",), seed=seed).heads
        for seed in (1, 1, 2)
    )
    assert one.equals(same) and not one.equals(other)


def test_blocks_are_as_long_as_fit():
    found = measure_repeats(wrap_module(net(encoding="learned", length=16)), RepeatedSettings(length=32, sequences=2))
    assert found.section.length == 8 and "requested, but the model holds 8" in found.notes[-1]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RepeatedSettings(length=1), "repeated tokens cannot have length 1; give at least 2"),
        (lambda: RepeatedSettings(sequences=0), "repeated tokens cannot have sequences 0; give at least 1"),
        (
            lambda: profile(net(), [torch.arange(12)], scores=("random.previous",)),
            "random.previous is about repeated random tokens; ask for it with --random",
        ),
        (
            lambda: measure_repeats(wrap_module(net(encoding="learned", length=3)), RepeatedSettings()),
            "a block of at least 2 of them has to fit in twice, so leave --random out",
        ),
    ],
)
def test_refusals(make, sentence: str):
    with pytest.raises(UserError, match=sentence.replace("(", r"\(")):
        make()
