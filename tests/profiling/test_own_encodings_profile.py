"""`profile` of a net of ours under every encoding: each score has its values, or the manifest says why it has none."""

import math
from pathlib import Path

import polars as pl
import pytest
import torch
from cases import CASES, Case
from test_own_encodings import NETS, own_net, titled

from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.profiling.profile import profile
from wherewhat.runs.registry import Profile
from wherewhat.scores.base import HIDDEN_STATE, ROW_KINDS
from wherewhat.scores.registry import ROW_SCORES, SCORES

FIRST = {name: next(case for case in CASES if case[0] == name) for name in ENCODINGS}
LAST = {name: next(case for case in reversed(CASES) if case[0] == name) for name in ENCODINGS}
WALKED = [(case, kind) for case, kind in NETS if case in (FIRST[case[0]], LAST[case[0]])]
REASONS = {
    "next": ("Under a causal mask no key is to the right of its query: `next` has no value",),
    "mean_frequency": ("so there are no frequencies and mean_frequency has no value",),
    "mean": ("they have no scores called mean",),
    "logits": ("were not decomposed: ", "so scores of logits are left out"),
}


def texts() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    texts = [torch.randint(3, 90, (n,), generator=generator) for n in (14, 9, 12)]
    texts[0][9:12] = texts[0][2:5]  # so that some tokens come again
    return texts


def reasons_for(name: str) -> tuple[str, ...]:
    """What the manifest may say of a score that has no values."""
    found = REASONS.get(name, ()) + (REASONS["mean"] if name.startswith("mean.") else ())
    return found + (REASONS["logits"] if name in ROW_SCORES and ROW_SCORES[name].logits else ())


def assert_complete(found: Profile) -> None:
    """Every score of every head is a number in its range, or the manifest gives the reason for its absence."""
    told = "\n".join(found.manifest.notes)
    heads = found.heads.select("layer", "head").n_unique()
    for name in (name for name, score in SCORES.items() if score.kind in (*ROW_KINDS, HIDDEN_STATE)):
        values = found.heads.filter(pl.col("score") == name)["value"].drop_nulls()
        if name.startswith("block."):
            assert values.is_empty(), "nobody gave blocks"
        elif len(values) < heads:
            assert any(reason in told for reason in reasons_for(name)), f"{name} is silent without a reason: {told}"
        else:
            low, high = SCORES[name].range if name in ROW_SCORES else (-math.inf, math.inf)
            assert ((values >= low - 1e-9) & (values <= high + 1e-9)).all(), name
    assert set(found.manifest.scores) == set(found.heads["score"])


def assert_no_nan(table: pl.DataFrame) -> None:
    numbers = table.select(pl.col(pl.Float64, pl.Float32))
    assert numbers.select(pl.all().is_finite().all()).row(0).count(False) == 0


@pytest.mark.parametrize(("case", "kind"), WALKED, ids=titled)
def test_every_score_of_every_encoding_has_values_or_a_reason(case: Case, kind: str, tmp_path: Path):
    found = profile(own_net(case, kind).float(), texts(), hidden=True)
    assert_complete(found)
    for table in (found.heads, found.offsets, found.frequencies):
        assert_no_nan(table)
    readable = not any("not decomposed" in note or "do not depend on slots" in note for note in found.manifest.notes)
    assert ("position_share" in set(found.heads["score"])) == readable
    assert (not found.frequencies.is_empty()) == ("mean_frequency" in set(found.heads["score"]))


@pytest.mark.parametrize("name", ["xpos", "deberta", "rollpe", "path", "dape", "urpe"])
def test_the_report_is_drawn_and_says_what_is_missing(name: str, tmp_path: Path):
    found = profile(own_net(FIRST[name], "decoder").float(), texts())
    page = found.report(tmp_path / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert ("were not decomposed" in page) == (name in ("path", "urpe"))
    if name == "urpe":
        assert "urpe over toeplitz reweights attention after the softmax" in page


def test_a_score_that_an_encoding_has_no_table_for_says_why():
    net = own_net(FIRST["cope"], "decoder").float()
    with pytest.raises(
        UserError, match="position_share cannot be measured on .*: cope computes a logit from the logits of"
    ):
        profile(net, texts(), scores=("position_share",))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", FIRST.values(), ids=titled)
def test_what_is_told_does_not_hang_on_the_precision(case: Case, dtype: torch.dtype):
    net = own_net(case, "decoder")
    wide, found = (profile(net.to(to), texts()) for to in (torch.float32, dtype))
    assert set(found.heads["score"]) == set(wide.heads["score"])
    assert_no_nan(found.heads)
