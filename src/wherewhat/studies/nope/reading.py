"""What a net does with samples of a task: its attention in every layer, and its residual stream after every block."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.module_inputs import watch_inputs
from wherewhat.capture.hooks.reader import BatchReader, BatchRows
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.nope.results import LONGER, TRAINED
from wherewhat.tasks.sequence import SequenceTask

SPLITS = {TRAINED: "valid", LONGER: "test"}


@dataclass(frozen=True)
class SampleText:
    """What a net reads of a sample: all tokens but the last, after which it predicts nothing."""

    ids_T: Tensor
    length: int  # as the task counts
    lengths: str  # `trained` or `longer`
    prompt: int  # tokens up to the one from which the first output token is predicted

    @property
    def output_Q(self) -> Tensor:
        """The slots from which output tokens are predicted."""
        return torch.arange(self.prompt - 1, len(self.ids_T))


@dataclass(frozen=True)
class SampleReading:
    """What a net did with one sample."""

    attention_LHTT: Tensor
    stream_LTD: Tensor  # what the first block reads, then what each block leaves: one more than there are layers


def sample_texts(task: SequenceTask, seed: int, count: int) -> list[SampleText]:
    """Samples of training lengths, which no net was trained on in this order, then longer ones; equal ones once."""
    texts: dict[tuple[int, ...], SampleText] = {}
    lengths = (*task.lengths("train"), *task.lengths("test"))
    for name, split in SPLITS.items():
        batch = task.batch(seed, split, np.arange(count))
        for ids_T, prompt, tokens, group in zip(
            batch.ids_NT, batch.prompt_N, batch.tokens_N, batch.group_N, strict=True
        ):
            read_T = torch.from_numpy(ids_T[: tokens - 1].copy())
            texts.setdefault(tuple(read_T.tolist()), SampleText(read_T, lengths[group], name, int(prompt)))
    return list(texts.values())


def read_samples(net: Trunk, texts: Sequence[SampleText]) -> list[SampleReading]:
    """Run a net over all samples, a batch at a time."""
    blocks = len(net.blocks)
    modules = [*(f"blocks.{number}" for number in range(blocks)), "norm"]  # each reads what the one before it leaves
    readings: dict[int, SampleReading] = {}
    chunks: dict[int, list[Tensor]] = defaultdict(list)  # attention_BHQK by layer
    stream: dict[str, Tensor] = {}

    def on_batch(rows: BatchRows) -> None:
        chunks[rows.site.ordinal].append(rows.attention_BHQK)

    reader = BatchReader(on_batch, next(net.parameters()).dtype)
    with watched_by(reader, net) as captured, watch_inputs(net, modules, stream.__setitem__):
        for batch in batches([text.ids_T for text in texts], queries=ALL, seed=0):
            chunks.clear()
            captured.read(batch)
            attention_LBHTT = torch.stack([torch.cat(chunks[layer], dim=2) for layer in range(blocks)])
            stream_LBTD = torch.stack([stream[name] for name in modules])
            for b, number in enumerate(batch.texts):
                tokens = len(texts[number].ids_T)
                attention_LHTT = attention_LBHTT[:, b, :, :tokens, :tokens].clone()
                readings[number] = SampleReading(attention_LHTT, stream_LBTD[:, b, :tokens].clone())
    return [readings[number] for number in range(len(texts))]
