"""Every family: what we capture is what the family's own eager attention says, padding and all."""

import pytest
import torch
from families import FAMILIES, Family
from reading import LENGTHS, ours, padded_batch, theirs

from wherewhat.capture.hooks import reader
from wherewhat.capture.hooks.interface import uses_attention_interface

INTERFACE = [family for family in FAMILIES if family.route == "interface"]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for key, attention in one.items():
        torch.testing.assert_close(attention, other[key], atol=1e-5, rtol=0, msg=lambda text, key=key: f"{key}: {text}")


@every_family
@pytest.mark.parametrize("side", ["right", "left"])
def test_captured_attention_is_the_familys_own(family: Family, side: str):
    model, eager = family.build(), family.build(attn_implementation="eager")
    batch = padded_batch(model, side=side)
    found = ours(model, batch)
    assert_equal(found, theirs(eager, batch))
    counted = {part: len({ordinal for p, ordinal, _ in found if p == part}) for part, _, _ in found}
    assert counted == family.parts


@pytest.mark.parametrize("family", INTERFACE, ids=lambda family: family.name)
def test_a_model_set_to_eager_is_read_in_row_chunks(family: Family, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", 400)  # a few rows at a time
    model = family.build(attn_implementation="eager")
    batch = padded_batch(model)
    with torch.no_grad():
        before = _output(model, batch)
    assert_equal(ours(model, batch), theirs(model, batch))
    with torch.no_grad():
        torch.testing.assert_close(_output(model, batch), before, atol=0, rtol=0)


@every_family
def test_sampled_rows_in_small_chunks_are_rows_of_the_whole(family: Family, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "CHUNK_ENTRIES", 300)
    model, eager = family.build(), family.build(attn_implementation="eager")
    rows = (torch.tensor([0, 3, 4, 11]), torch.tensor([5, 8]))
    batch = padded_batch(model, rows=rows)
    expected = {key: whole[:, rows[key[2]]] for key, whole in theirs(eager, batch).items()}
    assert_equal(ours(model, batch), expected)


@every_family
def test_the_output_of_the_model_is_unchanged_by_being_watched(family: Family):
    model = family.build()
    batch = padded_batch(model)
    from wherewhat.capture.capture import capture

    with torch.no_grad(), capture(model, lambda seen: None) as captured:
        captured.read(batch)  # fills the reader's batch
        with captured.during:
            watched = _output(model, batch)
    with torch.no_grad():
        alone = _output(model, batch)
    real = batch.real_BT
    torch.testing.assert_close(watched[real], alone[real], atol=1e-5, rtol=1e-5)


@every_family
def test_the_list_says_which_way_a_family_goes(family: Family):
    assert uses_attention_interface(family.build()) == (family.route == "interface")


def _output(model, batch):
    inputs = {"input_ids": batch.ids_BT, "attention_mask": batch.real_BT.long()}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = batch.ids_BT
    return model(**inputs).last_hidden_state


def test_lengths_differ():
    assert len(set(LENGTHS)) > 1, "the tests above would not see padding"
