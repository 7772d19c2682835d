"""Relevance of whole models against the same rules written out by hand, in float64 and without gradients."""

import pytest
import torch
from explicit_lrp import ExplicitRelevance, explicit_gpt2, explicit_llama
from head_models import BY_NAME, IDS, with_head
from precision import rounding

from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.result import Attribution


def check(ours: Attribution, theirs: ExplicitRelevance) -> None:
    close = rounding(ours.ledger.dtype, ours.ledger.flow)
    torch.testing.assert_close(ours.relevance.token_TD, theirs.token_TD, rtol=0, atol=close)
    torch.testing.assert_close(ours.position_T, theirs.position_T, rtol=0, atol=close)
    leaks = [entry.value for entry in ours.ledger.entries if entry.node == "softmax"]
    assert leaks == pytest.approx(theirs.softmax[::-1], abs=close)
    assert ours.ledger.biases == pytest.approx(theirs.biases, abs=close)


@pytest.mark.parametrize("index", [3, 50])
@torch.no_grad()
def test_a_llama_with_grouped_keys(index: int):
    model = with_head(BY_NAME["llama"], num_hidden_layers=3)
    ours, theirs = attribute(model, IDS, target=index), explicit_llama(model.module, IDS, index)
    check(ours, theirs)
    close = rounding(torch.float32, ours.ledger.flow)  # in which a Llama computes its norms
    heads = torch.cat(theirs.position_LH[::-1]).tolist()
    assert ours.heads["relevance"].to_list() == pytest.approx(heads, abs=close)
    frequencies = torch.cat(theirs.position_LF[::-1]).tolist()
    assert ours.frequencies["relevance"].to_list() == pytest.approx(frequencies, abs=close)
    assert max(map(abs, heads)) > 100 * close
    distances = ours.distances.sort("layer", "distance")
    added = torch.cat(theirs.split_LR[::-1]).tolist()
    assert distances["position"].to_list() == pytest.approx(added, abs=close)
    assert max(map(abs, added)) > 100 * close


@torch.no_grad()
def test_a_gpt_2_with_its_table_and_biases():
    model = with_head(BY_NAME["gpt2"], n_layer=3)
    ours = attribute(model, IDS)
    check(ours, explicit_gpt2(model.module, IDS, ours.output.index))
    assert ours.ledger.dtype == torch.float64
