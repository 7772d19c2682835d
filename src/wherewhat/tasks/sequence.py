"""Tasks whose answer is a sequence: an input, a separator, then an output of any length and its end.

    <bos> 4 x B <sep> 4 x B <eos>

A net reads everything up to `<sep>` and writes the rest. It is trained on short samples and tested on longer ones.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wherewhat.errors import UserError
from wherewhat.tasks.base import Record, check_indices, check_size, check_split
from wherewhat.tasks.stream import Ints, Stream

SPECIAL = ("<pad>", "<bos>", "<sep>", "<eos>")  # the first tokens of every vocabulary
PAD, BOS, SEP, EOS = range(len(SPECIAL))
Length = Any  # of a sample, as its task counts: an int or, where a sample has several lengths, a tuple of them
Example = tuple[list[str], list[str]]  # input and output as the names of tokens


@dataclass(frozen=True)
class SequenceBatch:
    """Many samples as arrays."""

    ids_NT: Ints  # <bos>, input, <sep>, output, <eos>, then padding
    prompt_N: Ints  # tokens up to and including <sep>
    tokens_N: Ints  # all tokens but padding
    group_N: Ints  # which of its task's `groups` a sample belongs to

    @property
    def predicted_NT(self) -> NDArray[np.bool_]:
        """True for the tokens that a net has to predict: those of the output, and `<eos>`."""
        slots_T = np.arange(self.ids_NT.shape[1])
        return (slots_T >= self.prompt_N[:, None]) & (slots_T < self.tokens_N[:, None])

    def rows(self, rows_B: Ints) -> "SequenceBatch":
        """Some of the samples, with no more padding than they need."""
        prompt_B, tokens_B = self.prompt_N[rows_B], self.tokens_N[rows_B]
        return SequenceBatch(self.ids_NT[rows_B, : tokens_B.max()], prompt_B, tokens_B, self.group_N[rows_B])


@dataclass(frozen=True)
class SequenceTask(ABC):
    """A family of inputs with an output each. Sample `index` of a split is always the same.

    Members are frozen dataclasses of their sizes. Lengths take turns, so that each comes equally often. A sample
    depends on its own length only: further lengths leave the others as they were.
    """

    shortest: int = 2
    train_length: int = 20  # the longest length that is trained on; `valid` has the same lengths as `train`
    test_length: int = 40  # the longest length that is tested; `test` has only lengths that are not trained on
    name: ClassVar[str]
    streams: ClassVar[str] = ""  # what its random streams are called, where that is not the task's name

    def __post_init__(self) -> None:
        check_size(self.name, "shortest", self.shortest, 1)
        check_size(self.name, "train_length", self.train_length, self.shortest)
        check_size(self.name, "test_length", self.test_length, self.train_length + 1)

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """What its own tokens are called; their ids follow those of the special tokens."""

    @abstractmethod
    def most_tokens(self, length: Length) -> int:
        """How many tokens input and output of this length have together at most."""

    @abstractmethod
    def draw(self, stream: Stream, length: Length) -> Example:
        """Make one sample of this length: the definition of the task."""

    @abstractmethod
    def output(self, tokens: Sequence[str]) -> list[str]:
        """The output that belongs to an input, from its tokens alone."""

    def lengths(self, split: str) -> tuple[Length, ...]:
        """The lengths that the samples of a split have, from short to long."""
        check_split(split)
        if split == "test":
            return tuple(range(self.train_length + 1, self.test_length + 1))
        return tuple(range(self.shortest, self.train_length + 1))

    @property
    def groups(self) -> tuple[str, ...]:
        """The kinds of sample that are measured apart: one per length, those that are trained on first."""
        return tuple(f"length {label(length)}" for length in (*self.lengths("train"), *self.lengths("test")))

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""
        return len(SPECIAL) + len(self.names)

    @cached_property
    def length(self) -> int:
        """Tokens that a net reads at most: all of the longest sample but `<eos>`."""
        lengths = (*self.lengths("train"), *self.lengths("test"))
        return 2 + max(self.most_tokens(length) for length in lengths)  # <bos> and <sep>

    def sample(self, seed: int, split: str, index: int) -> Record:
        """One sample in plain Python: `input` ends with `<sep>`, `target` with `<eos>`."""
        check_split(split)
        check_indices(np.array([index]))
        lengths = self.lengths(split)
        number, which = divmod(index, len(lengths))
        stream = Stream(seed, self.streams or self.name, split, label(lengths[which]), number)
        tokens, output = self.draw(stream, lengths[which])
        return {
            "input": [BOS, *self.ids(tokens), SEP],
            "target": [*self.ids(output), EOS],
            "tokens": ["<bos>", *tokens, "<sep>", *output, "<eos>"],
            "length": lengths[which],
        }

    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> SequenceBatch:
        """The same samples, many at once."""
        check_split(split)
        records = [self.sample(seed, split, int(index)) for index in indices]
        prompt_N = np.array([len(record["input"]) for record in records], dtype=np.int64)
        tokens_N = prompt_N + np.array([len(record["target"]) for record in records], dtype=np.int64)
        ids_NT = np.full((len(records), tokens_N.max(initial=0)), PAD, dtype=np.int64)
        for row_T, record, tokens in zip(ids_NT, records, tokens_N, strict=True):
            row_T[:tokens] = record["input"] + record["target"]
        number = {group: place for place, group in enumerate(self.groups)}
        group_N = np.array([number[f"length {label(record['length'])}"] for record in records], dtype=np.int64)
        return SequenceBatch(ids_NT, prompt_N, tokens_N, group_N)

    def texts(self, seed: int, split: str, indices: Sequence[int] | Ints) -> list[Ints]:
        """What a net reads of each sample: all tokens but `<eos>`, after which it predicts nothing."""
        batch = self.batch(seed, split, indices)
        return [ids_T[: tokens - 1] for ids_T, tokens in zip(batch.ids_NT, batch.tokens_N, strict=True)]

    def solve(self, ids: Sequence[int]) -> list[int]:
        """The output of an input that ends with `<sep>`, from its tokens alone; it ends with `<eos>`."""
        inner = ids[1:-1]
        if (
            len(ids) < 3
            or (ids[0], ids[-1]) != (BOS, SEP)
            or min(inner) < len(SPECIAL)
            or max(inner) >= self.vocabulary
        ):
            raise UserError(
                f"the {self.name} task reads {BOS} (<bos>), ids from {len(SPECIAL)} to {self.vocabulary - 1} "
                f"and {SEP} (<sep>); got {', '.join(map(str, ids[:20]))}"
            )
        return [*self.ids(self.output([self.token(id) for id in inner])), EOS]

    def token(self, id: int) -> str:
        """What an id is called when people read it."""
        return SPECIAL[id] if id < len(SPECIAL) else self.names[id - len(SPECIAL)]

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """The ids of tokens by their names."""
        return [self._ids[token] for token in tokens]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: id for id, name in enumerate((*SPECIAL, *self.names))}

    def sizes(self) -> dict[str, Any]:
        """The sizes as plain values; `any_task(name, **sizes)` makes the task again."""
        return asdict(self)


def label(length: Length) -> str:
    """A length as it is written in names.

    >>> label(8), label((3, 5))
    ('8', '3x5')
    """
    return str(length) if isinstance(length, int) else "x".join(map(str, length))
