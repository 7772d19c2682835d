"""Encodings are made by name, and what cannot be made is refused with a sentence."""

import pickle
from dataclasses import fields
from typing import Any

import pytest
import torch

from wherewhat.encodings.base import EncodingRecord
from wherewhat.encodings.learned import Learned
from wherewhat.encodings.registry import ENCODINGS, Shape, choices_of, encoding, encoding_for
from wherewhat.encodings.rope import Rope
from wherewhat.errors import UserError

SHAPE = Shape(width=32, heads=4, head_dim=8, length=20)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_record_is_complete(name: str) -> None:
    record = ENCODINGS[name]
    assert record.name == name
    assert list(record.options) == list(choices_of(name))
    for field in fields(EncodingRecord)[:-1]:
        assert getattr(record, field.name) is not None
    assert "\n" not in record.about and len(record.about) < 110
    assert "arXiv" in record.paper
    assert type(encoding_for(SHAPE, name, {})) is record.cls


def test_options_reach_the_encoding() -> None:
    rope = encoding("rope", head_dim=64, base=500_000, rotary_dim=16)
    assert isinstance(rope, Rope)
    assert (rope.head_dim, rope.base, rope.rotary_dim) == (64, 500_000, 16)


def test_a_net_hands_its_sizes_and_options_come_first() -> None:
    for options, length in (({}, 20), ({"length": 99}, 99)):
        learned = encoding_for(SHAPE, "learned", options)
        assert isinstance(learned, Learned)
        assert learned.table_SD.shape == (length, 32)


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("roep", {}, f"unknown encoding 'roep'; did you mean 'rope'? known: {', '.join(sorted(ENCODINGS))}"),
    (
        "rope",
        {"head_dim": 8, "bass": 1},
        "encoding 'rope' takes no option 'bass'; did you mean 'base'? it takes: base, head_dim, layout, rotary_dim, "
        "scaling",
    ),
    ("RoPE", {}, f"unknown encoding 'RoPE'; did you mean 'rope'? known: {', '.join(sorted(ENCODINGS))}"),
    ("none", {"base": 1}, "encoding 'none' takes no option 'base'; it takes: none"),
    ("rope", {}, "encoding 'rope' needs to know head_dim; for example head_dim=64"),
    ("rope", {"head_dim": "64"}, "encoding 'rope' wants its head_dim as int, got '64'"),
    ("alibi", {"heads": True}, "encoding 'alibi' wants its heads as int, got True"),
    (
        "rope",
        {"head_dim": 8, "rotary_dim": 2.0},
        "encoding 'rope' wants its rotary_dim as int | None "
        "(how many channels rotate, from the first on; all by default), got 2.0",
    ),
    (
        "rope",
        {"head_dim": 7},
        "the number of rotary channels of a head must be even and at least 2, because channels come in pairs; got 7",
    ),
    (
        "rope",
        {"head_dim": 8, "rotary_dim": 0},
        "the number of rotary channels of a head must be even and at least 2, because channels come in pairs; got 0",
    ),
    (
        "rope",
        {"head_dim": 8, "rotary_dim": 10},
        "rotary_dim 10 is more than the 8 channels of a head; use at most those",
    ),
    (
        "rope",
        {"head_dim": 8, "layout": "halves"},
        "unknown layout 'halves'; did you mean 'half'? known: half, interleaved",
    ),
    ("rope", {"head_dim": 8, "base": -1.0}, "base must be a positive number, got -1.0; 10000 is the usual one"),
    ("rope", {"head_dim": 8, "base": float("nan")}, "encoding 'rope' wants its base finite, got nan"),
    (
        "sinusoidal",
        {"width": 9},
        "the width of a sinusoidal encoding must be even and at least 2, because channels come in pairs; got 9",
    ),
    (
        "sinusoidal",
        {"width": 8, "layout": "half"},
        "unknown layout 'half'; known: concat, interleaved",
    ),
    ("learned", {"width": 8, "place": "inputs"}, "unknown place 'inputs'; did you mean 'input'? known: block, input"),
    (
        "learned",
        {"width": 8, "length": 0},
        "a learned encoding needs a width and a length of at least 1 and a sigma of at least 0; "
        "got width 8, length 0, sigma 0.02",
    ),
    ("alibi", {"heads": 0}, "alibi needs at least one head, got 0"),
]


REFUSALS += [
    ("learned", {"width": 8, "sigma": float("inf")}, "encoding 'learned' wants its sigma finite, got inf"),
    (
        "dape",
        {"heads": 2, "over": 5},
        "encoding 'dape' wants over as an encoding's name and over_options as names with values; got 5 and {}",
    ),
    (
        "dape",
        {"heads": 2, "over_options": [1]},
        "encoding 'dape' wants over as an encoding's name and over_options as names with values; got 'kerple' and [1]",
    ),
    (
        "dape",
        {"heads": 2, "overs": "rope"},
        "encoding 'dape' takes no option 'overs'; did you mean 'over'? it takes: heads, hidden, over, over_options",
    ),
    (
        "dape",
        {"heads": 8, "over": encoding("alibi", heads=4)},
        "dape for 8 heads cannot wrap alibi for 4; give both the same number",
    ),
    (
        "dape",
        {"heads": 2, "over": encoding("none"), "over_options": {"zzz": 1}},
        "encoding 'dape' got a ready-made over, so over_options {'zzz': 1} come too late",
    ),
    ("dape", {}, "encoding 'dape' needs to know heads; for example heads=64"),
    (
        "dape",
        {"heads": 2, "over": "alibi", "length": 7},
        "encoding 'dape' takes no option 'length'; it takes: heads, hidden, over, over_options",
    ),
    (
        "urpe",
        {"heads": 2, "over": "dape"},
        "urpe cannot wrap dape, which itself changes logits or attention; "
        "wrap one that leaves both alone, such as alibi, kerple, fire, none or rope",
    ),
]


@pytest.mark.parametrize(("name", "options", "sentence"), REFUSALS, ids=[sentence for _, _, sentence in REFUSALS])
def test_refusals(name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        encoding(name, **options)
    assert str(refusal.value) == sentence


def test_the_sizes_of_a_net_are_not_options() -> None:
    with pytest.raises(UserError) as refusal:
        encoding_for(SHAPE, "rope", {"head_dim": 4})
    sentence = "the net already tells its encoding its head_dim; leave it out of the encoding's options"
    assert str(refusal.value) == sentence


def test_a_wrapped_encoding_is_told_the_sizes_that_it_asks_for() -> None:
    for options in ({"head_dim": 8}, {"over_options": {"head_dim": 8}}):
        assert isinstance(encoding("dape", over="rope", heads=2, **options).over, Rope)
    assert isinstance(encoding_for(SHAPE, "dape", {"over": "rope", "over_options": {"base": 9.0}}).over, Rope)


def test_every_encoding_can_be_stored_and_copied() -> None:
    for name in ENCODINGS:
        made = encoding_for(SHAPE, name, {})
        again = pickle.loads(pickle.dumps(made))
        assert again.name == name
        assert all(map(torch.equal, made.state_dict().values(), again.state_dict().values()))


def test_a_net_makes_what_its_encoding_wraps() -> None:
    with pytest.raises(UserError) as refusal:
        encoding_for(SHAPE, "dape", {"over": encoding("none")})
    assert str(refusal.value) == "a net makes what its dape wraps by itself; give over as a name, such as over='alibi'"
