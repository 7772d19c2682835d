"""Heads of a model of several parts are named with their part and counted inside it, wherever they are named."""

import polars as pl
import pytest
import torch
from families import FAMILIES
from torch import Tensor

from wherewhat.errors import UserError
from wherewhat.profiling.profile import profile
from wherewhat.runs.registry import Profile

BY_NAME = {family.name: family for family in FAMILIES}


def texts(*lengths: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(3, 90, (length,), generator=generator) for length in lengths]


def run(name: str, **more: object) -> Profile:
    return profile(BY_NAME[name].build(), texts(16, 14), hidden=False, untrained=False, **more)


def test_the_page_names_heads_by_part_and_finds_their_offsets():
    found = run("t5", scores=("entropy", "locality"))
    tables = found.draw().tables
    layers = {one.part: one.layer for one in reversed(found.manifest.layers)}  # the first of each part
    assert len(layers) == 3 and layers["cross"] > layers["decoder"] > layers["encoder"] == 0
    by_place = {
        (h["layer"], h["head"]): h["name"] for h in pl.DataFrame(tables["heads"], strict=False).iter_rows(named=True)
    }
    assert by_place[0, 1] == "encoder L0H1"
    assert by_place[layers["decoder"], 1] == "decoder L0H1" and by_place[layers["cross"] + 1, 0] == "cross L1H0"
    of_offsets = {name for name in by_place.values() if not name.startswith("cross")}
    assert of_offsets <= set(tables["offsets"])
    assert any("heads are named with their part" in note for note in found.manifest.notes)


def test_a_model_of_one_part_keeps_short_names():
    found = run("llama", scores=("entropy", "position_share"))
    tables = found.draw().tables
    assert tables["heads"]["name"][:2] == ["L0H0", "L0H1"]
    assert "L0H0" in tables["offsets"] and "L0H0" in tables["spectra"]["name"]
    assert not any("named with their part" in note for note in found.manifest.notes)


@pytest.mark.parametrize("name", ["decoder L1H0", "decoder:L1H0"])
def test_a_head_is_chosen_by_its_part(name: str):
    rows = run("t5", scores=("entropy",), heads=(name,)).heads
    assert rows.select("part", "head").rows() == [("decoder", 0)]
    whole = run("t5", scores=("entropy",)).heads.filter(pl.col("part") == "decoder")
    assert rows["layer"].item() == whole["layer"].min() + 1


@pytest.mark.parametrize(
    ("model", "heads", "said"),
    [
        ("t5", "L0H1", "several parts, so 'L0H1' may be several heads; ask for 'encoder L0H1' or 'decoder L0H1' or"),
        ("t5", "decoder L9H1", r"no head decoder L9H1; the model has layers 0 to 5 \(encoder 0 to 1, decoder 2 to 3"),
        ("t5", "cross L1H99", "no head cross L1H99; cross L1 has heads 0 to 3"),
        ("llama", "encoder L0H0", "no head encoder L0H0; the model has layers 0 to 1"),
        ("llama", "L0H99", "no head L0H99; layer 0 has heads 0 to 3"),
    ],
)
def test_heads_that_are_not_there_say_what_is(model: str, heads: str, said: str):
    with pytest.raises(UserError, match=said):
        run(model, heads=(heads,))
