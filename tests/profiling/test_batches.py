"""How texts are batched changes no number: rows of many texts are scored at once, each as if it were alone."""

import pytest
import torch
from families import FAMILIES
from polars.testing import assert_frame_equal
from torch import Tensor

from wherewhat.profiling.profile import profile

LENGTHS = (7, 31, 3, 24, 31, 12, 2)
NAMES = ("llama", "mistral", "gpt_neox", "gemma3", "smollm3", "bert", "t5", "deberta-v2", "xlnet", "bloom", "gptj")
BY_NAME = {family.name: family for family in FAMILIES}
SETTINGS = ({}, {"logit_rows": "all", "queries": "all"}, {"queries": 5, "max_swaps": 20})


def texts() -> list[Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randint(3, 90, (length,), generator=generator) for length in LENGTHS]


@pytest.mark.parametrize("settings", SETTINGS, ids=("default", "all rows", "few rows"))
@pytest.mark.parametrize("name", NAMES)
def test_a_text_gives_the_same_alone_and_beside_others(name: str, settings: dict):
    model = BY_NAME[name].build().double()
    alone, together = (
        profile(model, texts(), batch_tokens=tokens, untrained=False, hidden=False, **settings)
        for tokens in (1, 10_000)
    )
    for table in ("heads", "offsets", "frequencies"):
        assert_frame_equal(getattr(alone, table), getattr(together, table), abs_tol=1e-6, rel_tol=1e-6)
