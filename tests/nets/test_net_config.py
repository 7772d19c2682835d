"""A config is checked when it is written down, and survives JSON."""

import json
from dataclasses import replace
from typing import Any

import pytest

from wherewhat.encodings.base import Encoding, EncodingRecord
from wherewhat.encodings.registry import ENCODINGS, options_of
from wherewhat.errors import UserError
from wherewhat.nets.config import KINDS, NetConfig

CONFIG = NetConfig(vocabulary=48, width=32, layers=2, heads=4, encoding="rope", encoding_options={"base": 100.0})


def test_a_config_survives_json() -> None:
    assert NetConfig.from_dict(json.loads(json.dumps(CONFIG.to_dict()))) == CONFIG


def test_a_config_written_before_there_were_conformers_is_still_read() -> None:
    values = CONFIG.to_dict()
    del values["kernel"]
    assert NetConfig.from_dict(values) == CONFIG and CONFIG.kernel == 31


def test_a_config_does_not_share_the_options_it_was_given() -> None:
    options = {"base": 100.0}
    config = replace(CONFIG, encoding_options=options)
    options["base"] = 5.0
    assert config.encoding_options == {"base": 100.0}


ROPE_TAKES = ", ".join(sorted(set(options_of("rope")) - {"head_dim"}))
REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "decodr"}, "unknown kind of net 'decodr'; did you mean 'decoder'? known: conformer, decoder, encoder"),
    ({"width": 0}, "a net's width must be a whole number of at least 1, got 0"),
    ({"layers": 1.5}, "a net's layers must be a whole number of at least 1, got 1.5"),
    ({"vocabulary": "48"}, "a net's vocabulary must be a whole number of at least 1, got '48'"),
    ({"mlp": -1}, "a net's mlp must be a whole number of at least 0, got -1"),
    ({"kernel": 3.0}, "a net's kernel must be a whole number of at least 1, got 3.0"),
    ({"kernel": 30}, "a net's kernel must be odd, to reach as far ahead as back; got 30"),
    ({"length": True}, "a net's length must be a whole number of at least 1, got True"),
    ({"heads": 5}, "width 32 cannot be shared by 5 heads; make it a multiple of them"),
    ({"encoding_options": "base"}, "encoding_options must be a dict, got 'base'"),
    (
        {"encoding": "rop"},
        f"unknown encoding 'rop'; did you mean 'rope'? known: {', '.join(sorted(ENCODINGS))}",
    ),
    (
        {"encoding_options": {"bass": 1}},
        f"encoding 'rope' takes no option 'bass'; did you mean 'base'? it takes: {ROPE_TAKES}",
    ),
    (
        {"encoding_options": {"width": 1}},
        "the net already tells its encoding its width; leave it out of the encoding's options",
    ),
    (
        {"heads": 32},
        "the number of rotary channels of a head must be even and at least 2, because channels come in pairs; got 1",
    ),
    (
        {"encoding": "learned", "encoding_options": {"length": 8}, "length": 9},
        "learned tells at most 8 tokens apart and got 9; shorten the sequence or build it for longer ones",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSALS, ids=[sentence[:70] for _, sentence in REFUSALS])
def test_refusals(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        replace(CONFIG, **change)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"decoder"}))
def test_only_a_decoder_takes_an_encoding_that_only_looks_back(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    class OnlyBack(Encoding):
        name = "only_back"
        causal_only = True

    record: EncodingRecord = replace(ENCODINGS["none"], cls=OnlyBack)
    monkeypatch.setitem(ENCODINGS, "only_back", record)
    replace(CONFIG, encoding="only_back", encoding_options={}, kind="decoder")
    with pytest.raises(UserError, match="only_back only looks back and got a net that looks both ways"):
        replace(CONFIG, encoding="only_back", encoding_options={}, kind=kind)


def test_unknown_and_missing_fields_are_named() -> None:
    with pytest.raises(UserError) as refusal:
        NetConfig.from_dict({**CONFIG.to_dict(), "widht": 3})
    known = (
        "block, chunk, encoding, encoding_options, features, heads, kernel, kind, labels, layers, length, mlp, "
        "pre_projection, readout_classes, readout_mlp, readout_queries, token_sigma, vocabulary, width"
    )
    assert str(refusal.value) == f"a net has no 'widht'; did you mean 'width'? it has: {known}"
    with pytest.raises(UserError) as refusal:
        NetConfig.from_dict({"width": 8, "layers": 1})
    assert str(refusal.value) == "a net's config lacks vocabulary, heads; give a value for each"
