"""Training on tasks whose answer is a sequence, greedy decoding, and how much of what is decoded is exact."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from wherewhat.nets.past import Past
from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.tasks.scratchpad import scored
from wherewhat.tasks.sequence import EOS, PAD, SequenceBatch, SequenceTask
from wherewhat.tasks.stream import Ints
from wherewhat.training.settings import Objective, TrainingSettings

AT_ONCE = 256  # samples decoded together at most, so that memory does not grow with their number
LONGER = 1.25  # with a scratchpad, up to so many times the tokens of the correct output are decoded, if there is room
Floats = NDArray[np.float64]


class SequenceObjective(Objective):
    """Predict the output of an input, token by token, and where it ends."""

    ends: ClassVar[Mapping[str, str]] = {"accuracy": "exact", "accuracy_valid": "exact valid"}
    ending: ClassVar[str] = (
        "{accuracy:.1%} of longer test outputs decoded exactly, {accuracy_valid:.1%} at training lengths"
    )

    def __init__(self, task: SequenceTask, settings: TrainingSettings, first_position: Callable[[int], int]) -> None:
        self.task, self.settings, self.first_position = task, settings, first_position

    def loss(self, net: Trunk, step: int) -> Tensor:
        indices_N = self.task.step_indices(step, self.settings.batch)
        batch = self.task.batch(self.settings.data_seed, "train", indices_N)
        return output_loss(net, batch, first=self.first_position(step))

    def evaluate(self, net: Trunk) -> dict[str, float]:
        return evaluate_outputs(net, self.task, seed=self.settings.data_seed, samples=self.settings.evaluate_samples)


def output_loss(net: Trunk, batch: SequenceBatch, *, first: int = 0) -> Tensor:
    """The mean cross-entropy of all output tokens and `<eos>`, each predicted at the token before it."""
    return cross_entropy(*output_logits(net, batch, first=first))


def output_logits(net: Trunk, batch: SequenceBatch, *, first: int = 0) -> tuple[Tensor, Tensor]:
    """logits_GV and target_G of the tokens to predict, sample by sample; other logits are not computed.

    Padding needs no mask: it comes last, so a net that only looks back never sees it.
    """
    ids_BT, predicted_BT = torch.from_numpy(batch.ids_NT), torch.from_numpy(batch.predicted_NT)
    logits_GV: Tensor = net.head(net.hidden(ids_BT[:, :-1], first=first)[predicted_BT[:, 1:]])
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

    `exact` is the share of answers that are decoded without a mistake. `token accuracy` is the share of output tokens
    that are predicted from the correct ones before them; `<eos>` counts as one. With a scratchpad, there is the share
    of its steps in which each part is right (`step input`, ...), and of those that cannot be read. All are given for
    all test samples, for all validation samples (which have training lengths), and for each length.
    """
    batches = [task.batch(seed, split, np.arange(samples)) for split in ("valid", "test")]
    results = [sample_measures(net, task, batch) for batch in batches]
    group_N = np.concatenate([batch.group_N for batch in batches])
    predicted_N = np.concatenate([batch.predicted_NT.sum(1) for batch in batches])
    test_N = np.arange(2 * samples) >= samples
    parts = {"": test_N, " valid": ~test_N}
    parts |= {f" {group}": group_N == number for number, group in enumerate(task.groups)}
    measured = dict[str, float]()
    for name, part_N in parts.items():
        if part_N.any():
            for measure in results[0]:
                value_N = np.concatenate([result[measure] for result in results])[part_N]
                weight_N = predicted_N[part_N] if measure == "token accuracy" else None
                measured[f"{measure}{name}"] = float(np.average(value_N, weights=weight_N))
    return measured


@torch.no_grad()
def sample_measures(net: Trunk, task: SequenceTask, batch: SequenceBatch) -> dict[str, Floats]:
    """What `evaluate_outputs` measures, for each sample of a batch."""
    measured: dict[str, Floats] = {}
    with evaluating(net):
        for prompt in np.unique(batch.prompt_N):
            rows_N = (batch.prompt_N == prompt).nonzero()[0]
            for rows_B in np.split(rows_N, range(AT_ONCE, len(rows_N), AT_ONCE)):
                for measure, value_B in _measures(net, task, batch.rows(rows_B), int(prompt)).items():
                    measured.setdefault(measure, np.zeros(len(batch.ids_NT)))[rows_B] = value_B
    return measured


def _measures(net: Trunk, task: SequenceTask, part: SequenceBatch, prompt: int) -> dict[str, Floats]:
    """The measures of samples whose prompts are equally long."""
    logits_GV, target_G = output_logits(net, part)
    right_G = (logits_GV.argmax(-1) == target_G).numpy()
    predicted_BT = part.predicted_NT
    right_B = np.bincount(predicted_BT.nonzero()[0], right_G) / predicted_BT.sum(1)
    prompt_BT, output_BT = torch.from_numpy(part.ids_NT).tensor_split([prompt], dim=1)
    most = output_BT.shape[1]
    if task.scratchpad_parts:
        most = min(int(LONGER * most), net.config.length + 1 - prompt)  # the last token is not read again
    decoded_BT = decode(net, prompt_BT, most=most)
    outputs = [[_tokens(task, row_T) for row_T in ids_BT.numpy()] for ids_BT in (decoded_BT, output_BT)]
    exact_B = [task.answer(ours) == task.answer(correct) for ours, correct in zip(*outputs, strict=True)]
    measures = {"exact": np.array(exact_B, dtype=np.float64), "token accuracy": right_B}
    return measures | _step_measures(task, *outputs)


def _step_measures(
    task: SequenceTask, decoded: Sequence[Sequence[str]], correct: Sequence[Sequence[str]]
) -> dict[str, Floats]:
    """How much of each scratchpad is right, part by part."""
    parts = task.scratchpad_parts
    if not parts:
        return {}
    pairs = [(task.thoughts(ours), task.thoughts(truth)) for ours, truth in zip(decoded, correct, strict=True)]
    scores = [scored(ours, truth, parts) for ours, truth in pairs]
    measures = {f"step {part}": np.array([score.parts[part] for score in scores]) for part in parts}
    return measures | {"unreadable steps": np.array([score.unreadable for score in scores])}


def _tokens(task: SequenceTask, ids_T: Ints) -> list[str]:
    """The tokens of an output up to `<eos>`; of one that does not end, all with a token that no answer has."""
    ids = ids_T.tolist()
    ended = EOS in ids
    tokens = [task.token(id) for id in (ids[: ids.index(EOS)] if ended else ids)]
    return tokens if ended else [*tokens, task.token(EOS)]
