"""Where there is no value, the note gives the reason that holds: the mask, the rows that were read, or the texts."""

import polars as pl
import pytest
import torch
from families import FAMILIES
from torch import Tensor
from transformers import MPNetConfig, MPNetModel

from wherewhat.errors import UserError
from wherewhat.profiling.profile import profile

BY_NAME = {family.name: family for family in FAMILIES}


def texts(*lengths: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(3, 90, (length,), generator=generator) for length in lengths]


def test_one_row_of_a_text_has_no_offset_peak_and_a_note_says_why():
    found = profile(BY_NAME["gpt2"].build(), texts(20, 24), queries="last", hidden=False, untrained=False)
    peaks = found.heads.filter(pl.col("score") == "offset_peak")
    assert len(peaks) and peaks["value"].null_count() == peaks["chance"].null_count() == len(peaks)
    assert any("`offset_peak` has no value" in note and "8 rows" in note for note in found.manifest.notes)


def test_enough_rows_have_an_offset_peak_and_no_note():
    found = profile(BY_NAME["gpt2"].build(), texts(20, 24, 5), hidden=False, untrained=False)
    peaks = found.heads.filter(pl.col("score") == "offset_peak")
    assert peaks["value"].null_count() == 0 and set(peaks["windows"]) == {2}, "five tokens are too few to agree"
    assert not any("offset_peak" in note for note in found.manifest.notes)


def test_a_mask_that_hides_all_keys_but_one_is_named_as_the_reason():
    model = BY_NAME["mistral"].build(sliding_window=2)
    with pytest.raises(
        UserError, match="the mask of this model shows no query two keys.*longer texts would not change"
    ):
        profile(model, texts(20), scores=("position_share",), untrained=False)
    notes = profile(model, texts(20), hidden=False, untrained=False).manifest.notes
    assert any("No row that was read sees two or more keys" in note and "a mask" in note for note in notes)


def mpnet() -> MPNetModel:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    return MPNetModel(MPNetConfig(vocab_size=90, max_position_embeddings=64, **size)).eval()


@pytest.mark.parametrize(("name", "told"), [("mpnet", True), ("bert", False), ("t5", False), ("llama", False)])
def test_learned_positions_beside_those_of_the_attention_are_told(name: str, told: bool):
    model = mpnet() if name == "mpnet" else BY_NAME[name].build()
    found = profile(model, texts(20, 18), hidden=False, untrained=False)
    assert any("represents position in two ways" in note for note in found.manifest.notes) is told


@pytest.mark.parametrize(
    ("name", "scores", "whose"), [("llama", (), "these"), ("t5", (), "the decoder's"), ("llama", ("sink",), None)]
)
def test_what_a_causal_mask_hides_is_told_of_the_heads_under_it(name: str, scores: tuple[str, ...], whose: str | None):
    found = profile(BY_NAME[name].build(), texts(20, 18), hidden=False, untrained=False, scores=scores)
    told = [note for note in found.manifest.notes if "Under a causal mask" in note]
    assert len(told) == (whose is not None) and all(f"are meaningless for {whose} heads" in note for note in told)
