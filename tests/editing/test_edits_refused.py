"""Edits that cannot be done: one sentence each, and the model untouched."""

from typing import Any

import pytest
import torch
from turning_models import BY_NAME

from wherewhat.capture.capture import capture
from wherewhat.capture.editing.survey import survey
from wherewhat.editing.edit import applied, edit
from wherewhat.editing.plan import Edit
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

LLAMA = BY_NAME["llama"].build()  # two layers of four heads, with frequencies 1, 0.1, 0.01 and 0.001
IDS = torch.arange(5, 15)[None]
SENTENCES: list[tuple[dict[str, Any], str]] = [
    ({}, "there is nothing to edit; name frequencies to drop, unrotate, keep or scale, or heads to ablate"),
    ({"ablate": "L0H0", "heads": "L0H1"},
     "L0H1 says where frequencies are edited, and none are named; say which to drop or unrotate"),
    ({"drop": "angle:2..3"}, "no frequency lies in 'angle:2..3'; they go from 0.001 to 1 radians per token"),
    ({"keep": "wavelength:1..2"},
     "no frequency lies in 'wavelength:1..2'; they go from 6.283 to 6283 tokens per rotation"),
    ({"unrotate": "index:4"}, "there is no frequency 4 among the 4 from 0; got 'index:4'"),
    ({"drop": "high:0.1"}, "'high:0.1' of 4 frequencies is less than one; use at least 0.25, or 0 for none"),
    ({"drop": "fast:0.5"}, "unknown kind of frequencies 'fast'; known: angle, high, index, low, wavelength"),
    ({"drop": "all", "heads": "L9H0"}, "there is no head L9H0; the model has layers 0 to 1"),
    ({"drop": "all", "heads": "L1H4"}, "there is no head L1H4; layer 1 has heads 0 to 3"),
    ({"ablate": "L2H0"}, "there is no head L2H0; the model has layers 0 to 1"),
    ({"ablate": "H7"}, "'H7' is not the name of a head; heads are named like L3H7, counted from 0"),
    ({"drop": "all", "layers": [0, 5]}, "there is no layer 5; the model has layers 0 to 1"),
    ({"drop": "all", "layers": -1}, "-1 is not the number of a layer; layers are counted from 0"),
    ({"drop": "all", "heads": "L0H0", "layers": 1},
     "no head is left: none of the heads is in the layers; loosen one of them"),
    ({"drop": "high:0.5", "keep": "low:0.5"},
     "frequencies are either kept or dropped; got keep 'low:0.5' and drop 'high:0.5', give one"),
    ({"drop": "high:0.5", "unrotate": "index:1"},
     "frequency 1 is dropped, so it cannot be unrotated as well; take it out of one"),
    ({"drop": "high:0.5", "scale": "all=2"},
     "frequency 0 is dropped, so it cannot be scaled as well; take it out of one"),
    ({"keep": "high:0.5", "unrotate": "index:2"},
     "frequency 2 is not kept, so it cannot be unrotated as well; take it out of one"),
    ({"scale": ["high:0.5=2", "index:1=3"]},
     "frequency 1 is scaled twice, the second time in 'index:1=3'; scale it once"),
    ({"unrotate": ["high:0.5", "index:1"]},
     "frequency 1 is named twice to unrotate, in 'high:0.5' and after; name it once"),
    ({"drop": ["index:0", "index:1", "index:1"]},
     "frequency 1 is named twice to drop, in 'index:1' and after; name it once"),
    ({"drop": "high:0"}, "'high:0' names no frequency at all; name at least one"),
    ({"keep": "high:0"}, "'high:0' names no frequency at all; name at least one"),
    ({"drop": None}, "None names no frequencies; name them as text, like high:0.25"),
    ({"drop": [0.5]}, "0.5 names no frequencies; name them as text, like high:0.25"),
    ({"scale": 2.0}, "2.0 names no frequencies; name them as text, like high:0.25"),
    ({"drop": "index:9999999"}, "pairs are named by whole numbers from 0, such as index:0,3,5-7; got 'index:9999999'"),
    ({"ablate": "L0H9999999"}, "'L0H9999999' is not the name of a head; heads are named like L3H7, counted from 0"),
    ({"drop": "all", "layers": torch.tensor(7)}, "there is no layer 7; the model has layers 0 to 1"),
    ({"drop": "all", "layers": 0.5}, "0.5 is not the number of a layer; layers are counted from 0"),
    ({"ablate": "L0H1", "drop": "all", "heads": ["L0H1", "L0H2"]},
     "L0H1 cannot be ablated and edited at once; take it out of one"),
    ({"scale": "all"}, "a scale is a band and a factor, such as high:0.25=0.5, or all=0.25..1.4^2 from its fastest "
     "frequency to its slowest; got 'all'"),
    ({"scale": "all=1^2"}, "a scale is a band and a factor, such as high:0.25=0.5, or all=0.25..1.4^2 from its fastest "
     "frequency to its slowest; got 'all=1^2'"),
    ({"scale": "all=loud"}, "a scale is a band and a factor, such as high:0.25=0.5, or all=0.25..1.4^2 from its "
     "fastest frequency to its slowest; got 'all=loud'"),
    ({"scale": "all=-1"}, "a scale needs factors from 0 and a beta above 0; got 'all=-1'"),
    ({"scale": "all=1..2^0"}, "a scale needs factors from 0 and a beta above 0; got 'all=1..2^0'"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "sentence"), SENTENCES, ids=[str(wanted) for wanted, _ in SENTENCES])
def test_what_cannot_be_done_is_said_in_one_sentence_and_nothing_is_touched(wanted: dict[str, Any], sentence: str):
    with torch.no_grad():
        before = LLAMA(IDS).last_hidden_state
    with pytest.raises(UserError) as raised, edit(LLAMA, **wanted):
        pass
    assert str(raised.value) == sentence
    with torch.no_grad():
        assert torch.equal(LLAMA(IDS).last_hidden_state, before)


def test_models_that_do_not_turn_say_what_they_do_instead():
    alibi = build(NetConfig(vocabulary=20, width=32, layers=1, heads=4, encoding="alibi"), seed=0)
    for model, instead in (
        (alibi, "the encoding is alibi"),
        (BY_NAME["gpt2"].build(), "position, if any, comes in with the hidden state"),
        (BY_NAME["t5"].build(), "position enters the logits by other means than rotation"),
    ):
        with pytest.raises(UserError) as raised, edit(model, drop="all"):
            pass
        assert str(raised.value) == (
            f"frequencies are edited where queries and keys are rotated, and in this model {instead}; "
            "only ablate heads here"
        )


def test_a_rotation_that_cannot_be_read_is_not_edited(monkeypatch: pytest.MonkeyPatch):
    from transformers.models.llama import modeling_llama

    plain = modeling_llama.apply_rotary_pos_emb

    def bent(*args: Any, **kwargs: Any) -> Any:
        query, key = plain(*args, **kwargs)
        return query.roll(1, -1) + query, key.roll(1, -1) + key

    monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", bent)
    told = r"in this model position enters in a way that could not be determined \(its queries and keys are not"
    with pytest.raises(UserError, match=told), edit(BY_NAME["llama"].build(), drop="all"):
        pass


def test_layers_that_do_not_turn_are_passed_over_unless_they_are_named():
    model = BY_NAME["smollm3"].build()  # its second layer has no position
    with edit(model, drop="all"):
        pass
    with pytest.raises(UserError) as raised, edit(model, drop="all", layers=1):
        pass
    assert str(raised.value) == (
        "frequencies are edited where queries and keys are rotated, and in layer 1 position, if any, comes in with the "
        "hidden state; leave it out"
    )


def test_a_band_may_be_empty_in_some_layers_but_not_in_all():
    model = BY_NAME["gemma3"].build()
    slow = min(float(layer.theta_F.min()) for layer in survey(model) if layer.theta_F is not None)
    only_one = f"angle:0..{slow * 2}"
    assert [bool((layer.theta_F < slow * 2).any()) for layer in survey(model)] == [False, True]  # type: ignore[operator]
    with edit(model, drop=only_one):
        pass
    with pytest.raises(UserError, match="no frequency lies in"), edit(model, drop=only_one, layers=0):
        pass


def test_a_model_is_edited_by_one_block_at_a_time():
    model = BY_NAME["llama"].build()
    with edit(model, drop="high:0.5"):
        with pytest.raises(UserError) as raised, edit(model, unrotate="low:0.5"):
            pass
        assert str(raised.value) == (
            "this model is being edited already; leave the first `with` block before entering another, or combine "
            "both edits in one"
        )
    with edit(model, unrotate="low:0.5"):
        pass


def test_to_look_a_model_over_while_it_is_being_captured_is_refused():
    model = BY_NAME["llama"].build()
    told = "already being captured"
    with capture(model, lambda seen: None), pytest.raises(UserError, match=told), edit(model, drop="all"):
        pass


def test_heads_of_a_group_whose_keys_turn_in_part_are_unrotated_together():
    model = BY_NAME["stablelm"].build()
    with pytest.raises(UserError) as raised, edit(model, unrotate="all", heads="L0H1"):
        pass
    assert str(raised.value) == (
        "in layer 0 every 2 heads share keys of which only a part is rotated, so they can only be unrotated together; "
        "name all heads of a group, or drop the frequencies"
    )
    with edit(model, unrotate="all", heads=["L0H0", "L0H1"]):
        model(IDS)
    with edit(model, drop="all", heads="L0H1"):
        model(IDS)


def test_layers_of_another_model_are_refused():
    layers = survey(build(NetConfig(vocabulary=20, width=32, layers=2, heads=4), seed=0))
    told = "LlamaModel has no 'blocks.0.attention'; survey the model that is edited"
    with pytest.raises(UserError, match=told), applied(LLAMA, Edit(drop=("all",)), layers):
        pass


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Edit(), "nothing"),
        (Edit(unrotate=("high:0.25",), heads=("L3H7",)), "unrotate high:0.25 in L3H7"),
        (Edit(drop=("low:0.5",), layers=(0, 3)), "drop low:0.5 in layers 0, 3"),
        (Edit(ablate=("L3H7",)), "ablate L3H7"),
        (Edit(keep=("all",), layers=(2,)), "keep all in layer 2"),
        (
            Edit(drop=("index:0", "index:2"), scale=("index:1=2",), ablate=("L0H0", "L0H1")),
            "drop index:0 and index:2, scale index:1=2; ablate L0H0, L0H1",
        ),
    ],
)
def test_an_edit_is_described_in_the_words_of_the_command_line(wanted: Edit, words: str):
    assert wanted.description == words
