"""Does an attribution find the tokens that decide an output? Where they are known, it is scored like a segmentation.

Tokens with scores above the mean are chosen, as heat maps of images are thresholded in publications. Pure functions of
numbers.
"""

import numpy as np
from numpy.typing import NDArray

from wherewhat.attribution.evaluation.curves import Bools, EvaluationMeasure, Floats

PERMUTATIONS = 100  # of the same scores over the same tokens, from which chance is computed
MEASURES: dict[str, EvaluationMeasure] = {
    measure.name: measure
    for measure in (
        EvaluationMeasure("miou", "mIoU", "intersection over union, mean of deciding and other tokens", "higher"),
        EvaluationMeasure("iou", "IoU", "chosen and deciding tokens over chosen or deciding tokens", "higher"),
        EvaluationMeasure("accuracy", "accuracy", "tokens that are rightly chosen or rightly not", "higher"),
        EvaluationMeasure("f1", "F1", "harmonic mean of precision and recall of the chosen tokens", "higher"),
        EvaluationMeasure("ap", "AP", "average precision of the order of scores, without a threshold", "higher"),
    )
}


def segmentation(scores_N: Floats, deciding_N: Bools) -> dict[str, float]:
    """All measures of one text.

    >>> values = segmentation(np.array([0.9, 0.1, 0.7, 0.1]), np.array([True, False, False, False]))
    >>> {name: round(value, 3) for name, value in values.items()}
    {'miou': 0.583, 'iou': 0.5, 'accuracy': 0.75, 'f1': 0.667, 'ap': 1.0}
    """
    return {name: float(value_R[0]) for name, value_R in measure_rows(scores_N[None], deciding_N).items()}


def chance(
    scores_N: Floats, deciding_N: Bools, generator: np.random.Generator, permutations: int = PERMUTATIONS
) -> dict[str, float]:
    """What the same scores are worth on average if they belong to tokens at random."""
    permuted_RN = generator.permuted(np.tile(scores_N, (permutations, 1)), axis=1)
    return {name: float(value_R.mean()) for name, value_R in measure_rows(permuted_RN, deciding_N).items()}


def measure_rows(scores_RN: Floats, deciding_N: Bools) -> dict[str, Floats]:
    """All measures of several rows of scores for the same tokens, of which some are deciding and some are not."""
    chosen_RN = scores_RN > scores_RN.mean(-1, keepdims=True)
    both_R, either_R = (chosen_RN & deciding_N).sum(-1), (chosen_RN | deciding_N).sum(-1)
    neither_R, tokens = (~chosen_RN & ~deciding_N).sum(-1), scores_RN.shape[1]
    iou_R, others_R = both_R / either_R, neither_R / (tokens - both_R)
    return {
        "miou": (iou_R + others_R) / 2,
        "iou": iou_R,
        "accuracy": (both_R + neither_R) / tokens,
        "f1": 2 * both_R / (chosen_RN.sum(-1) + deciding_N.sum()),
        "ap": average_precision(scores_RN, deciding_N),
    }


def average_precision(scores_RN: Floats, deciding_N: Bools) -> Floats:
    """ap_R: precision at every threshold, weighted by the recall that it adds; equal scores pass it together."""
    order_RN: NDArray[np.int64] = np.argsort(-scores_RN, axis=-1, kind="stable")
    sorted_RN = np.take_along_axis(scores_RN, order_RN, axis=-1)
    hits_RN = np.cumsum(deciding_N[order_RN], axis=-1)
    last_RN = np.ones_like(sorted_RN, dtype=bool)  # of the tokens that have the same score
    last_RN[:, :-1] = sorted_RN[:, :-1] != sorted_RN[:, 1:]
    reached_RN = np.maximum.accumulate(np.where(last_RN, hits_RN, 0), axis=-1)
    before_RN = np.concatenate([np.zeros_like(reached_RN[:, :1]), reached_RN[:, :-1]], axis=-1)
    precision_RN = hits_RN / np.arange(1, scores_RN.shape[1] + 1)
    gained_RN = np.where(last_RN, (hits_RN - before_RN) * precision_RN, 0.0)
    return np.asarray(gained_RN.sum(-1) / deciding_N.sum())
