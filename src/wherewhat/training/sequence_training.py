"""Training on tasks whose answer is a sequence, greedy decoding, and how much of what is decoded is exact."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.nets.past import Past
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.sequence import EOS, PAD, SequenceBatch, SequenceTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.settings import Objective, TrainingSettings

AT_ONCE = 250  # samples decoded together at most, so that memory does not grow with their number


class SequenceObjective(Objective):
    """Predict the output of an input, token by token, and where it ends."""

    ends: ClassVar[Mapping[str, str]] = {"accuracy": "exact", "accuracy_valid": "exact valid"}

    def __init__(self, task: SequenceTask, settings: TrainingSettings) -> None:
        self.task, self.settings = task, settings

    def loss(self, net: Trunk, step: int) -> Tensor:
        # New sequences at every step: each sample of the training split is used once.
        size = self.settings.batch
        batch = self.task.batch(self.settings.data_seed, "train", np.arange((step - 1) * size, step * size))
        return output_loss(net, batch)

    def evaluate(self, net: Trunk) -> dict[str, float]:
        return evaluate_outputs(net, self.task, seed=self.settings.data_seed, samples=self.settings.evaluate_samples)


def output_loss(net: Trunk, batch: SequenceBatch) -> Tensor:
    """The mean cross-entropy of all output tokens and `<eos>`, each predicted at the token before it."""
    return cross_entropy(*output_logits(net, batch))


def output_logits(net: Trunk, batch: SequenceBatch) -> tuple[Tensor, Tensor]:
    """logits_GV and target_G of the tokens to predict, sample by sample; other logits are not computed.

    Padding needs no mask: it comes last, so a net that only looks back never sees it.
    """
    ids_BT, predicted_BT = torch.from_numpy(batch.ids_NT), torch.from_numpy(batch.predicted_NT)
    logits_GV: Tensor = net.head(net.hidden(ids_BT[:, :-1])[predicted_BT[:, 1:]])
    return logits_GV, ids_BT[predicted_BT]


@torch.no_grad()
def decode(net: Trunk, prompt_BT: Tensor, *, most: int) -> Tensor:
    """Continue prompts of the same length greedily: output_BT of `most` tokens, with padding after `<eos>`."""
    past, new_BT = Past(), prompt_BT
    output_BT = torch.full((len(prompt_BT), most), PAD)
    for slot in range(most):
        ended_B = (output_BT == EOS).any(1)
        if ended_B.all():
            break
        new_BT = net.head(net.hidden(new_BT, past=past)[:, -1:]).argmax(-1)
        output_BT[:, slot] = new_BT[:, 0].masked_fill(ended_B, PAD)
    return output_BT


def evaluate_outputs(net: Trunk, task: SequenceTask, *, seed: int, samples: int) -> dict[str, float]:
    """How well a net answers the first `samples` samples of the test split, and of the validation split.

    `exact` is the share of outputs that are decoded without a mistake. `token accuracy` is the share of output tokens
    that are predicted from the correct ones before them; `<eos>` counts as one. Both are given for all test samples,
    for all validation samples (which have training lengths), and for each length.
    """
    batches = [task.batch(seed, split, np.arange(samples)) for split in ("valid", "test")]
    results = [answers(net, batch) for batch in batches]
    exact_N, right_N = (np.concatenate(parts) for parts in zip(*results, strict=True))
    group_N = np.concatenate([batch.group_N for batch in batches])
    predicted_N = np.concatenate([batch.predicted_NT.sum(1) for batch in batches])
    test_N = np.arange(2 * samples) >= samples
    parts = {"": test_N, " valid": ~test_N}
    parts |= {f" {group}": group_N == number for number, group in enumerate(task.groups)}
    measured = dict[str, float]()
    for name, part_N in parts.items():
        if part_N.any():
            measured[f"exact{name}"] = float(exact_N[part_N].mean())
            measured[f"token accuracy{name}"] = float(right_N[part_N].sum() / predicted_N[part_N].sum())
    return measured


@torch.no_grad()
def answers(net: Trunk, batch: SequenceBatch) -> tuple[NDArray[np.bool_], Ints]:
    """exact_N, whether each decoded output is correct; and right_N, how many of its tokens are predicted correctly."""
    exact_N, right_N = np.zeros(len(batch.ids_NT), np.bool_), np.zeros(len(batch.ids_NT), np.int64)
    with evaluating(net):
        for prompt in np.unique(batch.prompt_N):
            rows_N = (batch.prompt_N == prompt).nonzero()[0]
            for rows_B in np.split(rows_N, range(AT_ONCE, len(rows_N), AT_ONCE)):
                part = batch.rows(rows_B)
                logits_GV, target_G = output_logits(net, part)
                right_G = (logits_GV.argmax(-1) == target_G).numpy()
                right_N[rows_B] = np.bincount(part.predicted_NT.nonzero()[0], right_G)
                prompt_BT, output_BT = torch.from_numpy(part.ids_NT).tensor_split([int(prompt)], dim=1)
                decoded_BT = decode(net, prompt_BT, most=output_BT.shape[1])
                exact_N[rows_B] = (decoded_BT == output_BT).all(1).numpy()
    return exact_N, right_N
