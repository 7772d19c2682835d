"""Where the relevance of positions falls, by the split of logits into content and position."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.evaluation.truth import KnownText
from wherewhat.attribution.result import Attribution
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.stats.bootstrap import named_draws, sentence_estimates
from wherewhat.studies.attribution.names import AROUND, EVEN, ON_SLOT, POSITION_SHARE, ROTATION, SLOTS, TOP
from wherewhat.studies.engine.lengths import Measured

Floats = NDArray[np.float64]

REACH = 8  # slots to each side of the one that decides


def slot_rows(model: LoadedModel, texts: Sequence[KnownText], seed: int) -> Iterator[Measured]:
    """How much of the relevance of logits is that of positions, and how much of it falls on deciding slots.

    The query itself, which is last, is not counted among the deciding slots. Without position in logits, no rows.
    """
    by_text, around, single = list[list[float]](), list[Floats](), all(len(text.deciding) == 2 for text in texts)
    for text in texts:
        attribution = attribute(model, list(text.ids))
        sizes_T = position_sizes(attribution)
        if attribution.output.index == text.answer and sizes_T.any():
            by_text.append(shares(attribution, sizes_T, list(text.deciding[:-1])))
            around.append(profile(sizes_T, text.deciding[0]))
    if not by_text:
        return
    counts = named_draws(seed, SLOTS, len(by_text))
    measures = (POSITION_SHARE, ON_SLOT, ROTATION, TOP, EVEN)
    for measure, estimate in zip(measures, sentence_estimates(np.array(by_text), counts), strict=True):
        yield SLOTS, "", None, measure, *estimate.numbers
    if single:
        for offset, estimate in enumerate(sentence_estimates(np.array(around), counts), start=-REACH):
            yield AROUND, "", float(offset), ON_SLOT, *estimate.numbers


def position_sizes(attribution: Attribution) -> Floats:
    """sizes_T: of what position adds to the logits of each key, over layers and heads, whatever its sign."""
    splits = attribution.relevance.splits
    return np.asarray(sum(split.position.by_key_HK.abs().sum(0).numpy() for split in splits))


def shares(attribution: Attribution, sizes_T: Floats, slots: list[int]) -> list[float]:
    """Of one text: the share of positions, what of it is on the slots, the same for rotations, and if it is largest."""
    content = sum(float(split.content.by_key_HK.abs().sum()) for split in attribution.relevance.splits)
    total, rotation_T = float(sizes_T.sum()), attribution.position_T.abs().numpy()
    return [
        total / (total + content),
        float(sizes_T[slots].sum()) / total,
        float(rotation_T[slots].sum() / rotation_T.sum()),
        float(int(sizes_T.argmax()) in slots),
        len(slots) / len(sizes_T),
    ]


def profile(sizes_T: Floats, slot: int) -> Floats:
    """The shares of slots around one of them; NaN outside the text."""
    padded = np.pad(sizes_T / sizes_T.sum(), REACH, constant_values=np.nan)
    return padded[slot : slot + 2 * REACH + 1]
