"""Nets that lack one link of attention in one block: against plain loops, and the net is what it was afterwards."""

import itertools
from collections.abc import Mapping
from contextlib import ExitStack

import pytest
import torch
from torch.nn.functional import gelu

from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.stats.intervals import wilson
from wherewhat.studies.latin_square.attention import links
from wherewhat.studies.latin_square.interventions import removed_link, removed_rows, without
from wherewhat.studies.latin_square.measures import puzzles
from wherewhat.studies.latin_square.names import (
    GATHERS,
    GROUPS,
    MARKS,
    OUTSIDE,
    READS,
    READS_LINES,
    REMOVED,
    SMALL,
    WHOLE,
)
from wherewhat.studies.latin_square.settings import ARMS, SCALES
from wherewhat.tasks.latin import QUERY

BATCH = puzzles(1, "test", 16)  # one for each queried cell
ELSEWHERE = {0, 1, 2, 4, 5, 6, 8, 9, 10}  # cells outside the row and the column of the last one


def small_net(arm: str = SMALL) -> Trunk:
    """A net with random weights, whose attention is sharper than usual so that it matters."""
    net = build(SCALES["tiny"].net(ARMS[arm], 6), seed=3).eval()
    with torch.no_grad():
        for block in net.blocks:
            block.attention.qkv.weight *= 3
    return net


def pairs(link: str, cells: list[int]) -> list[tuple[int, int]]:
    """The queries and keys of a link, by the words of its name."""
    query = cells.index(QUERY)
    near = [k for k in range(16) if k != query and (k // 4 == query // 4 or k % 4 == query % 4)]
    far = [k for k in range(16) if k != query and k not in near]
    return {
        GATHERS: [(query, k) for k in near],
        MARKS: [(k, query) for k in near],
        READS: [(15, query)],
        READS_LINES: [(15, k) for k in near],
        OUTSIDE: [(query, k) for k in far],
    }[link]


def in_class(group: str, item: str) -> str:
    return f"{item}, {group}" if item else group


def logits_by_loop(net: Trunk, removed: Mapping[int, str], cells: list[int]) -> torch.Tensor:
    """logits_V of one puzzle with links removed by block, the attention of every block written out query by query."""
    x_TD = net.tokens(torch.tensor(cells))
    for number, block in enumerate(net.blocks):
        x_TD = x_TD + net.encoding(number).table_SD
        q_TC, k_TC, v_TC = block.attention.qkv(x_TD).chunk(3, dim=-1)
        rows = []
        for query in range(16):
            weights = [float(weight) for weight in (q_TC[query] @ k_TC.T / 8).softmax(-1)]
            if number in removed:
                gone = pairs(removed[number], cells)
                weights = [0.0 if (query, k) in gone else weights[k] for k in range(16)]
                weights = [weight / (sum(weights) or 1.0) for weight in weights]
            rows.append(sum(weights[k] * v_TC[k] for k in range(16)))
        x_TD = block.attention_norm(x_TD + block.attention.out(torch.stack(rows)))
        x_TD = block.mlp_norm(x_TD + gelu(block.mlp(x_TD)))
    logits_V: torch.Tensor = net.head(x_TD[-1])
    return logits_V


@torch.no_grad()
def test_a_net_without_links_by_loops() -> None:
    net, input_NT = small_net(), torch.from_numpy(BATCH.input_NT)
    measured = {(row[1], row[3]): row[4:] for row in removed_rows(net, BATCH)}
    elsewhere = [n for n, cells in enumerate(BATCH.input_NT.tolist()) if cells.index(QUERY) in ELSEWHERE]
    whole_NV = net(input_NT[elsewhere])[:, -1]
    cuts: dict[tuple[str, str], dict[int, str]] = {("", WHOLE): {}}
    cuts |= {(f"block {block}", link): {block: link} for link, block in itertools.product(REMOVED, (0, 1))}
    cuts[("block 0 and block 1", f"{MARKS}, and {READS}")] = {0: MARKS, 1: READS}
    by_class = {(in_class(group, item), link) for item, link in cuts for group in GROUPS}
    assert set(measured) == set(cuts) | by_class and len(elsewhere) == 9
    for key, removed in cuts.items():
        theirs_NV = torch.stack([logits_by_loop(net, removed, BATCH.input_NT[n].tolist()) for n in elsewhere])
        with ExitStack() as all_removed:
            for block, link in removed.items():
                all_removed.enter_context(removed_link(net, block, links(input_NT[elsewhere])[link]))
            ours_NV = net(input_NT[elsewhere])[:, -1]
        torch.testing.assert_close(ours_NV, theirs_NV, atol=1e-4, rtol=0)
        right_N = theirs_NV.argmax(-1).numpy() == BATCH.target_N[elsewhere]
        assert measured[key] == pytest.approx((right_N.mean(), *wilson(right_N.mean(), 9)))
        for group in GROUPS:
            inside_N = BATCH.group_N[elsewhere] == GROUPS.index(group)
            assert measured[in_class(group, key[0]), key[1]][0] == pytest.approx(right_N[inside_N].mean())
        # Each link matters to these weights, so that the loops tell them apart, but of the last block one row is read.
        matters = removed and removed not in [{1: link} for link in (GATHERS, MARKS, OUTSIDE)]
        assert not matters or float((ours_NV - whole_NV).abs().max()) > 1e-3, key


@pytest.mark.parametrize("arm", ["t5_bias", "rope", "none"])
def test_other_positions_keep_their_own_attention(arm: str) -> None:
    net, input_NT = small_net(arm), torch.from_numpy(BATCH.input_NT)
    with torch.no_grad():
        before_NV = net(input_NT)
        with removed_link(net, 0, torch.zeros(16, 16, 16, dtype=torch.bool)):
            torch.testing.assert_close(net(input_NT), before_NV, atol=1e-5, rtol=0)
        with removed_link(net, 0, links(input_NT)[READS]):
            assert (net(input_NT) - before_NV).abs().max() > 1e-3


def test_a_net_is_whole_again_also_after_an_error() -> None:
    net = small_net()
    before = [block.attention.attend for block in net.blocks]
    with pytest.raises(RuntimeError, match="size"), removed_link(net, 1, torch.ones(3, 16, 16, dtype=torch.bool)):
        net(torch.from_numpy(BATCH.input_NT))
    assert [block.attention.attend for block in net.blocks] == before


def test_a_row_with_nothing_left_is_zero() -> None:
    rows_BHQK = torch.tensor([[[[0.2, 0.8, 0.0], [0.5, 0.2, 0.3]]]])
    kept = without(rows_BHQK, torch.tensor([[[True, True, False], [True, False, False]]]))
    assert kept.flatten().tolist() == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.4, 0.6])
