"""The net built by hand counts exactly, for every length and number of regions."""

import json
from pathlib import Path

import pytest
import torch

from wherewhat.errors import UserError
from wherewhat.studies.counting.by_hand import HandBuiltCounter
from wherewhat.tasks.counting import BOS, CountingTask

HAND = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())["counting_hand"]
CODES = [0, 1, 1, 0.5, 0.5, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 0.5, 0.6, 0.5, 0.5, 4 / 7, 4 / 7, 4 / 7, 0.5]


@pytest.mark.parametrize(("tokens", "regions"), [(512, 4), (300, 4), (512, 3), (64, 4), (1024, 4)])
def test_counts_are_exact(tokens: int, regions: int) -> None:
    task = CountingTask(tokens=tokens, regions=regions, bos=True)
    batch = task.batch(1, "test", range(20))
    net = HandBuiltCounter(CountingTask(bos=True))  # always the same net
    ids_BT, target_BR = torch.from_numpy(batch.input_NT), torch.from_numpy(batch.target_NR)
    counts_BR = net.counts(ids_BT)[:, :regions]
    assert (counts_BR - target_BR).abs().max() < 1e-12
    assert torch.equal(net.readout_logits(ids_BT)[:, :regions].argmax(-1), target_BR)


@pytest.mark.parametrize("regions", range(1, 9))
def test_counts_are_exact_for_any_number_of_regions(regions: int) -> None:
    task = CountingTask(tokens=128, regions=regions, bos=True)
    batch = task.batch(1, "test", range(20))
    counts_BR = HandBuiltCounter(task).counts(torch.from_numpy(batch.input_NT))
    assert (counts_BR - torch.from_numpy(batch.target_NR)).abs().max() < 1e-12


def test_codes_and_counts_by_hand() -> None:
    net = HandBuiltCounter(CountingTask(tokens=len(HAND["input"]), bos=True))
    ids_BT = torch.tensor([[BOS, *HAND["input"]]])
    assert (net.codes(ids_BT)[0] - torch.tensor(CODES, dtype=torch.float64)).abs().max() < 1e-12
    assert net.counts(ids_BT)[0].tolist() == pytest.approx(HAND["target"], abs=1e-12)


def test_attention_is_shared_by_the_ones_of_a_region_and_bos() -> None:
    net = HandBuiltCounter(CountingTask(tokens=len(HAND["input"]), bos=True))
    attention_RT = net.readout.attention(net.hidden(torch.tensor([[BOS, *HAND["input"]]])))[0]
    expected_RT = torch.zeros(4, 17, dtype=torch.float64)
    for region, slots in enumerate(([2], [7, 8], [], [14])):
        expected_RT[region, [0, *slots]] = 1 / (len(slots) + 1)
    assert (attention_RT - expected_RT).abs().max() < 1e-12


def test_it_needs_bos() -> None:
    with pytest.raises(UserError, match="the net built by hand counts against BOS; give a task with bos=true"):
        HandBuiltCounter(CountingTask())
