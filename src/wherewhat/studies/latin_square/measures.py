"""The numbers of a net that learnt Latin squares: its answers, its tables, and where it looks."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.nets.trunk import Trunk, evaluating
from wherewhat.stats.bootstrap import quantiles
from wherewhat.stats.intervals import student, wilson
from wherewhat.studies.engine.lengths import Measured
from wherewhat.studies.latin_square.attention import attention_measures, read_attention
from wherewhat.studies.latin_square.names import (
    ADDED,
    ADDED_BOUND,
    CHANGE,
    CHANGE_BOUND,
    GROUPS,
    MODULES,
    MOVED,
    RATIO,
    TEST,
    TRAIN,
    block_name,
)
from wherewhat.studies.latin_square.network import module_contrast, shuffled_contrasts
from wherewhat.studies.latin_square.position_tables import (
    Floats,
    cosines,
    layout_correlation,
    shuffled_layouts,
    sinusoid_table,
    table_measures,
)
from wherewhat.tasks.base import TaskBatch
from wherewhat.tasks.latin import SIDE, LatinSquare
from wherewhat.tasks.stream import Ints
from wherewhat.training.task_training import answer_logits

Right = NDArray[np.bool_]
AT_ONCE = 1000  # puzzles, so that memory does not grow with their number
SHUFFLES = 1000  # random orders of the cells of a table


@torch.no_grad()
def right_answers(net: Trunk, input_NC: Ints, target_N: Ints) -> Right:
    """right_N: which puzzles a net answers correctly."""
    with evaluating(net):
        pieces = torch.from_numpy(input_NC).split(AT_ONCE)
        answer_N = torch.cat([answer_logits(net, piece_NC).argmax(-1) for piece_NC in pieces]).numpy()
    return np.asarray(answer_N == target_N)


def share(right_N: Right) -> tuple[float, float, float]:
    """The share of right answers with Wilson's interval."""
    value = float(right_N.mean())
    return value, *wilson(value, len(right_N))


def accuracy_rows(net: Trunk, train: TaskBatch, test: TaskBatch) -> Iterator[Measured]:
    """Accuracy on puzzles of training, on test puzzles, and on those of each class."""
    yield "accuracy", TRAIN, None, "accuracy", *share(right_answers(net, train.input_NT, train.target_N))
    right_N = right_answers(net, test.input_NT, test.target_N)
    yield "accuracy", TEST, None, "accuracy", *share(right_N)
    for number, group in enumerate(GROUPS):
        yield "accuracy", group, None, "accuracy", *share(right_N[test.group_N == number])


def noise_rows(net: Trunk, test: TaskBatch, probabilities: Iterable[float], seed: int) -> Iterator[Measured]:
    """Accuracy on test puzzles in which given cells are replaced, against the answers that they had before."""
    for probability in probabilities:
        input_NC = with_noise(test.input_NT, probability, np.random.default_rng(seed))
        yield "noise", "", probability, "accuracy", *share(right_answers(net, input_NC, test.target_N))


def with_noise(input_NC: Ints, probability: float, generator: np.random.Generator) -> Ints:
    """Puzzles in which each given cell has, with this probability, a symbol drawn anew from all four.

    Cells that are replaced with a small probability are replaced with a larger one too, by the same symbol.
    """
    chosen_NC = generator.random(input_NC.shape) < probability
    symbol_NC = generator.integers(1, SIDE + 1, input_NC.shape)
    given_NC = (input_NC >= 1) & (input_NC <= SIDE)
    return np.where(chosen_NC & given_NC, symbol_NC, input_NC)


def tables_of(net: Trunk) -> dict[int, Floats]:
    """table_SD by block, where a block learns one."""
    tables = {block: getattr(net.encoding(block), "table_SD", None) for block in range(len(net.blocks))}
    return {block: table.detach().double().numpy() for block, table in tables.items() if table is not None}


def growth_rows(snapshots: Iterable[tuple[int, Trunk]]) -> Iterator[Measured]:
    """Every measure of every table over training, and the ratio of the first to the tokens, by step."""
    for step, net in snapshots:
        for item, measure, value in _table_numbers(net):
            yield "table", item, float(step), measure, value, None, None
        yield from ratio_rows(net, float(step))


def table_rows(net: Trunk) -> Iterator[Measured]:
    """Every measure of every table of a trained net, its ratio to the tokens, and the cosines of its rows by cell."""
    for item, measure, value in _table_numbers(net):
        yield "table", item, None, measure, value, None, None
    yield from ratio_rows(net)
    for block, table_SD in tables_of(net).items():
        for number, cosine in enumerate(cosines(table_SD).ravel().tolist()):
            yield "cosine", block_name(block), float(number), "cosine", cosine, None, None


def ratio_rows(net: Trunk, step: float | None = None) -> Iterator[Measured]:
    """The norm of the first block's table over that of the token embedding, both as root mean squares over rows.

    Later blocks add their tables to hidden states, not to tokens.
    """
    if (table_SD := tables_of(net).get(0)) is not None:
        token_VD = net.tokens.weight.detach().double().numpy()
        ratio = float(np.sqrt(np.square(table_SD).mean() / np.square(token_VD).mean()))
        yield "ratio", block_name(0), step, RATIO, ratio, None, None


def moved_rows(start: Trunk, net: Trunk) -> Iterator[Measured]:
    """How far every table has come from where it started, as a share of its norm there."""
    first = tables_of(start)
    for block, table_SD in tables_of(net).items():
        moved = float(np.linalg.norm(table_SD - first[block]) / np.linalg.norm(first[block]))
        yield "moved", block_name(block), None, MOVED, moved, None, None


def change_rows(start: Trunk, net: Trunk) -> Iterator[Measured]:
    """Whether what every table has added to its start shows the layout, against the same with cells shuffled.

    The layout correlation of a whole table cannot tell that, where the start is large and hides what was added.
    """
    first = tables_of(start)
    for block, table_SD in tables_of(net).items():
        change_SD = table_SD - first[block]
        _, bound = quantiles(shuffled_layouts(change_SD, times=SHUFFLES, seed=0))
        yield "change", block_name(block), None, CHANGE, layout_correlation(change_SD), None, None
        yield "change", block_name(block), None, CHANGE_BOUND, bound, None, None


def module_rows(start: Trunk, net: Trunk, module_T: Ints) -> Iterator[Measured]:
    """Whether tables of nodes show the modules, and whether what they have added to their starts does.

    As with the layout, a large start hides what was added; the bound is that of the change with modules shuffled.
    """
    first = tables_of(start)
    for block, table_TD in tables_of(net).items():
        change_TD = table_TD - first[block]
        _, bound = quantiles(shuffled_contrasts(change_TD, module_T, times=SHUFFLES, seed=0))
        contrasts = {MODULES: table_TD, ADDED: change_TD}
        numbers = {measure: module_contrast(each_TD, module_T) for measure, each_TD in contrasts.items()}
        for measure, value in {**numbers, ADDED_BOUND: bound}.items():
            yield "network", block_name(block), None, measure, value, None, None


def _table_numbers(net: Trunk) -> Iterator[tuple[str, str, float]]:
    sinusoid_SD = sinusoid_table(net.config.width)
    for block, table_SD in tables_of(net).items():
        for measure, value in table_measures(table_SD, sinusoid_SD).items():
            yield block_name(block), measure, value


def attention_rows(net: Trunk, input_NC: Ints) -> Iterator[Measured]:
    """Measures of the attention of every block, with intervals over puzzles."""
    puzzles_NT = torch.from_numpy(input_NC)
    for block, attention_NQK in enumerate(read_attention(net, puzzles_NT)):
        for measure, value_N in attention_measures(attention_NQK, puzzles_NT).items():
            yield "attention", block_name(block), None, measure, *_mean(value_N)


def _mean(value_N: Tensor) -> tuple[float, float, float]:
    """The mean over puzzles with its interval; none of these measures leaves 0 to 1."""
    value, low, high = student(value_N.tolist())
    return value, max(0.0, low), min(1.0, high)


def puzzles(seed: int, split: str, count: int) -> TaskBatch:
    """The first puzzles of a split."""
    return LatinSquare().batch(seed, split, np.arange(count))
