"""Tasks whose answer is a sequence: an input, a separator, then an output of any length and its end.

    <bos> 4 x B <sep> 4 x B <eos>

A net reads everything up to `<sep>` and writes the rest. It is trained on short samples and tested on longer ones.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wherewhat.errors import UserError
from wherewhat.names import look_up
from wherewhat.tasks.base import Record, check_indices, check_size, check_split
from wherewhat.tasks.forms import FORMS
from wherewhat.tasks.scratchpad import FORMATS, NONE, PARTS, Step, text_of
from wherewhat.tasks.stream import Ints, Streams

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

    A member draws inputs as lists of symbols and answers them; what is written, in which form and with which
    scratchpad, is the same for all.
    """

    shortest: int = 2
    train_length: int = 20  # the longest length that is trained on; `valid` has the same lengths as `train`
    test_length: int = 40  # the longest length that is tested; `test` has only lengths that are not trained on
    form: str = "compact"  # one token per symbol; or `text`: one per character of the released text
    scratchpad: str = NONE  # the format of the steps that are written before the answer
    name: ClassVar[str]
    manner: ClassVar[str] = "with a sequence"  # how it answers
    parts: ClassVar[tuple[str, ...]] = ()  # of the steps of its scratchpad, if it has one

    def __post_init__(self) -> None:
        check_size(self.name, "shortest", self.shortest, 1)
        check_size(self.name, "train_length", self.train_length, self.shortest)
        check_size(self.name, "test_length", self.test_length, self.train_length + 1)
        look_up("form", self.form, FORMS)
        written = look_up("scratchpad format", self.scratchpad, FORMATS)
        if written and not self.parts:
            raise UserError(f"the {self.name} task has no scratchpad and got '{self.scratchpad}'; leave scratchpad out")
        if self.scratchpad.removeprefix("no_") in PARTS and self.scratchpad.removeprefix("no_") not in self.parts:
            raise UserError(
                f"the scratchpad of the {self.name} task has no {self.scratchpad.removeprefix('no_')} to leave out; "
                "give scratchpad=full"
            )

    @property
    @abstractmethod
    def symbols(self) -> Sequence[str]:
        """What inputs and outputs consist of."""

    @abstractmethod
    def draw(self, streams: Streams, length: Length) -> list[list[str]]:
        """Draw one input of this length per stream: the definition of the task."""

    @abstractmethod
    def output(self, tokens: Sequence[str]) -> list[str]:
        """The output that belongs to an input."""

    @abstractmethod
    def longest(self, length: Length) -> Iterable[list[str]]:
        """Inputs of this length one of which has the most tokens, together with its output."""

    @abstractmethod
    def prompt(self, tokens: Sequence[str]) -> str:
        """The released text of an input."""

    @abstractmethod
    def target(self, output: Sequence[str]) -> str:
        """The released text of an output."""

    @abstractmethod
    def read_prompt(self, text: str) -> list[str]:
        """The input that a released text states."""

    @abstractmethod
    def read_target(self, text: str) -> list[str]:
        """The output that a released text states; empty if it states none."""

    def steps(self, tokens: Sequence[str]) -> Sequence[Step]:
        """The steps of the scratchpad of an input."""
        return []

    def lengths(self, split: str) -> tuple[Length, ...]:
        """The lengths that the samples of a split have, from short to long."""
        check_split(split)
        if split == "test":
            return tuple(range(self.train_length + 1, self.test_length + 1))
        return tuple(range(self.shortest, self.train_length + 1))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The kinds of sample that are measured apart: one per length, those that are trained on first."""
        return tuple(f"length {label(length)}" for length in (*self.lengths("train"), *self.lengths("test")))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What its own tokens are called; their ids follow those of the special tokens."""
        names, extra = FORMS[self.form].names(self), FORMS[self.form].scratchpad_names if self.scratchpad_parts else ()
        return tuple(dict.fromkeys((*names, *extra)))

    @property
    def scratchpad_parts(self) -> tuple[str, ...]:
        """The parts of a step that are written."""
        return tuple(part for part in FORMATS[self.scratchpad] if part in self.parts)

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""
        return len(SPECIAL) + len(self.names)

    @cached_property
    def length(self) -> int:
        """Tokens that a net reads at most: all of the longest sample but `<eos>`."""
        lengths = (*self.lengths("train"), *self.lengths("test"))
        return 2 + max(self.most_tokens(length) for length in lengths)  # <bos> and <sep>

    def most_tokens(self, length: Length) -> int:
        """How many tokens input and output of this length have together at most."""
        return max(sum(map(len, self.write(tokens))) for tokens in self.longest(length))

    def write(self, tokens: Sequence[str]) -> Example:
        """Input and output as tokens of its form, with the scratchpad in front of the output."""
        form, output = FORMS[self.form], self.output(tokens)
        if parts := self.scratchpad_parts:
            return form.input(self, tokens), form.with_steps(self, text_of(self.steps(tokens), parts), output)
        return form.input(self, tokens), form.output(self, output)

    def answer(self, output: Sequence[str]) -> list[str]:
        """The symbols of the answer that written output tokens state, behind any scratchpad; empty if they do not."""
        form = FORMS[self.form]
        return form.read_output(self, form.split_steps(output)[1] if self.scratchpad_parts else output)

    def thoughts(self, output: Sequence[str]) -> list[str]:
        """The compact tokens of the scratchpad in written output tokens."""
        return FORMS[self.form].split_steps(output)[0]

    def placed(self, seed: int, split: str, indices_N: Ints) -> tuple[Ints, Ints]:
        """number_N and which_N: sample `index` is sample `number` of the length number `which` of a split."""
        return np.divmod(indices_N, len(self.lengths(split)))

    def step_indices(self, step: int, size: int) -> Ints:
        """The training samples of a step, counted from 1: all have the same length, so that there is little padding."""
        lengths = len(self.lengths("train"))
        turn, which = divmod(step - 1, lengths)
        return which + lengths * np.arange(turn * size, (turn + 1) * size)

    def sample(self, seed: int, split: str, index: int) -> Record:
        """One sample in plain Python: `input` ends with `<sep>`, `target` with `<eos>`."""
        ((tokens, output, which),) = self._examples(seed, split, [index])
        return {
            "input": [BOS, *self.ids(tokens), SEP],
            "target": [*self.ids(output), EOS],
            "tokens": ["<bos>", *tokens, "<sep>", *output, "<eos>"],
            "length": self.lengths(split)[which],
        }

    def batch(self, seed: int, split: str, indices: Sequence[int] | Ints) -> SequenceBatch:
        """The same samples, many at once."""
        examples = self._examples(seed, split, indices)
        prompt_N = np.array([len(tokens) + 2 for tokens, _, _ in examples], dtype=np.int64)  # <bos> and <sep>
        tokens_N = prompt_N + np.array([len(output) + 1 for _, output, _ in examples], dtype=np.int64)
        ids_NT = np.full((len(examples), tokens_N.max(initial=0)), PAD, dtype=np.int64)
        for row_T, (tokens, output, _), count in zip(ids_NT, examples, tokens_N, strict=True):
            row_T[:count] = [BOS, *self.ids(tokens), SEP, *self.ids(output), EOS]
        first = len(self.lengths("train")) if split == "test" else 0
        group_N = np.array([first + which for _, _, which in examples], dtype=np.int64)
        return SequenceBatch(ids_NT, prompt_N, tokens_N, group_N)

    def _examples(self, seed: int, split: str, indices: Sequence[int] | Ints) -> list[tuple[list[str], list[str], int]]:
        """Input, output and the number of the length of each sample; those of the same length are drawn together."""
        check_split(split)
        number_N, which_N = self.placed(seed, split, check_indices(np.asarray(indices, dtype=np.int64)))
        examples: dict[int, tuple[list[str], list[str], int]] = {}
        lengths = self.lengths(split)
        for which in np.unique(which_N).tolist():
            length, rows = lengths[which], (which_N == which).nonzero()[0]
            streams = Streams(seed, [self.name, split, label(length)], number_N[rows])
            for row, tokens in zip(rows.tolist(), self.draw(streams, length), strict=True):
                examples[row] = *self.write(tokens), which
        return [examples[row] for row in range(len(examples))]

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
        written = [self.token(id) for id in inner]
        try:
            return [*self.ids(self.write(self._stated(written))[1]), EOS]
        except (ValueError, LookupError, UserError) as error:
            blank = "" if self.form == "text" else " "
            shown, example = (blank.join(each)[:120] for each in (written, self._examples(1, "train", [0])[0][0]))
            raise UserError(
                f"the {self.name} task cannot answer '{shown}'; give an input such as '{example}'"
            ) from error

    def _stated(self, written: list[str]) -> list[str]:
        """The symbols of an input, if that is all that the tokens of its form state."""
        form = FORMS[self.form]
        tokens = form.read_input(self, written)
        states_all = form.input(self, tokens) == written and self.read_prompt(self.prompt(tokens)) == tokens
        if not states_all or not set(tokens) <= set(self.symbols):
            raise ValueError("something in the tokens is not read")
        return tokens

    def token(self, id: int) -> str:
        """What an id is called when people read it."""
        return SPECIAL[id] if id < len(SPECIAL) else self.names[id - len(SPECIAL)]

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """The ids of tokens by their names."""
        try:
            return [self._ids[token] for token in tokens]
        except KeyError as error:
            known = " ".join(self.names[:100]) + (" ..." if len(self.names) > 100 else "")
            raise UserError(
                f"the {self.name} task in its {self.form} form has no token {error}; use only {known}"
            ) from error

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
