"""A net built by hand that counts exactly: no training, no encoding, one causal head and one cross-attention."""

import torch
from torch import Tensor, nn

from wherewhat.encodings.base import Context
from wherewhat.encodings.none import NoPosition
from wherewhat.errors import UserError
from wherewhat.nets.attention import attend
from wherewhat.nets.config import NetConfig
from wherewhat.nets.readout import Readout
from wherewhat.tasks.counting import BIT_ONE, BOS, CLOSE, OPEN, CountingTask

BRACKET = 60.0  # logit of brackets in the encoder; bits have its negative, BOS 0
MARGIN = 80.0  # by how much a query prefers ones with its code to any others, as a logit: exp(-80) is 2e-35
NEVER = -1e9  # a logit that gives no attention at all


def code(region: int) -> float:
    """The share of opening brackets among the brackets that a token in a region sees."""
    return (region + 1) / (2 * region + 1)


def smallest_gap(regions: int) -> float:
    """By how much the codes of two regions, or of a region and the tokens after it, differ at least.

    >>> round(1 / smallest_gap(4)), round(1 / smallest_gap(1))
    (35, 2)
    """
    gaps = [code(region) - code(region + 1) for region in range(regions - 1)]
    return min([*gaps, code(regions - 1) - 1 / 2])


class HandBuiltCounter(nn.Module):
    """Counts ones against BOS, for any length and at most `task.regions` regions.

    The encoder's head attends to brackets alone, so that a token gets the share of opening ones among those before
    it as its code: 1 in the first region, then 2/3, 3/5, 4/7, ..., and 1/2 between regions. The query of a region
    attends to the ones that have its code, and as much to BOS as to each of them: n ones leave 1 / (n + 1) for BOS.
    """

    def __init__(self, task: CountingTask) -> None:
        super().__init__()
        if not task.bos:
            raise UserError("the net built by hand counts against BOS; give a task with bos=true")
        self.classes = task.classes
        self.codes_R = torch.tensor([code(r) for r in range(task.regions)], dtype=torch.float64)
        width = task.regions + 2  # squared distance from the code of every region, whether it is BOS, whether neither
        config = NetConfig(
            vocabulary=task.vocabulary,
            width=width,
            layers=1,
            heads=1,
            encoding="none",
            readout_queries=task.regions,
            readout_classes=1,
        )
        self.readout = Readout(config).double().requires_grad_(False)
        unit = torch.eye(width, dtype=torch.float64)
        queries_RD = -MARGIN / smallest_gap(task.regions) ** 2 * unit[: task.regions] + NEVER * unit[-1]
        self.readout.queries_RD.copy_(queries_RD * width**0.5)
        self.readout.key.weight.copy_(unit)
        self.readout.value.weight.copy_(unit)
        self.readout.out.weight.copy_(unit[-2:-1])
        self.readout.out.bias.zero_()

    def codes(self, ids_BT: Tensor) -> Tensor:
        """code_BT: the share of opening brackets among the brackets that a token sees."""
        bracket_BT = (ids_BT == OPEN) | (ids_BT == CLOSE)
        logit_BT = BRACKET * (bracket_BT.double() - (ids_BT <= BIT_ONE).double())
        query, key, value = (
            each_BT[:, None, :, None] for each_BT in (torch.ones_like(logit_BT), logit_BT, (ids_BT == OPEN).double())
        )
        context = Context.of(ids_BT.shape[1], causal=True)
        return attend(NoPosition(), query, key, value, context)[:, 0, :, 0]

    def hidden(self, ids_BT: Tensor) -> Tensor:
        """x_BTD: what the read-out needs of every token."""
        one_BT1, bos_BT1 = ((ids_BT == id).double()[..., None] for id in (BIT_ONE, BOS))
        distance_BTR = one_BT1 * (self.codes(ids_BT)[..., None] - self.codes_R) ** 2
        return torch.cat([distance_BTR, bos_BT1, 1 - one_BT1 - bos_BT1], -1)

    def counts(self, ids_BT: Tensor) -> Tensor:
        """count_BR, as a real number: what is left for BOS tells how many ones there are."""
        return self.counts_of(self.hidden(ids_BT))

    def counts_of(self, x_BTD: Tensor) -> Tensor:
        """The same, given what the read-out needs of every token."""
        on_bos_BR: Tensor = self.readout(x_BTD)[..., 0]
        return 1 / on_bos_BR - 1

    def readout_logits(self, ids_BT: Tensor) -> Tensor:
        """logits_BRC, largest at the count."""
        return -((self.counts(ids_BT)[..., None] - torch.arange(self.classes)) ** 2)
