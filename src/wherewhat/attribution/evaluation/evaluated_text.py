"""One text: every method orders its tokens, and the model reads what is left of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wherewhat.attribution.attribute import TextInput
from wherewhat.attribution.evaluation import segmentation
from wherewhat.attribution.evaluation.arms import CHANCE, MethodArm, attributions, scores_of
from wherewhat.attribution.evaluation.curves import (
    PROCEDURES,
    Bools,
    Floats,
    OutputCurve,
    measures_of,
    slots_in_order,
    standing_tokens,
)
from wherewhat.attribution.evaluation.perturb import run_perturbed
from wherewhat.attribution.evaluation.settings import EvaluationSettings
from wherewhat.attribution.evaluation.truth import KnownText
from wherewhat.attribution.evaluation.variants import PerturbableText, perturbable
from wherewhat.attribution.targets import Question
from wherewhat.capture.loading.load import LoadedModel

Values = Mapping[str, float]  # by measure
Curves = Mapping[str, Floats]  # probability_F by procedure


@dataclass(frozen=True)
class EvaluatedText:
    """What every arm is worth on one text."""

    kind: str  # of output that was explained
    data: str  # where the text is from: a task, `roles`, `repeated tokens`, or `texts` that were given
    scores: Mapping[MethodArm, Floats]  # scores_N of the tokens that can be replaced, without random ones
    values: Mapping[MethodArm, Values]
    chance: Mapping[MethodArm, Values]  # of segmentation: what permuted scores are worth
    curves: Mapping[MethodArm, Curves]


TextToEvaluate = TextInput | Question | KnownText
GIVEN = "texts"  # the data of texts that were given


def data_of(text: TextToEvaluate) -> str:
    """Where a text is from."""
    return text.source if isinstance(text, KnownText) else GIVEN


def evaluate_text(
    model: LoadedModel, text: TextToEvaluate, number: int, settings: EvaluationSettings
) -> EvaluatedText | None:
    """Evaluate all arms on text `number`; None if its right answer is known and the model gives another one."""
    known = text if isinstance(text, KnownText) else None
    reading = text.reading if isinstance(text, Question) else list(text.ids) if isinstance(text, KnownText) else text
    target = text.target if isinstance(text, Question) else ""
    results = attributions(model, reading, settings.methods, target)
    _, first = next(results)
    if known is not None and first.output.index != known.answer:
        return None
    piece = perturbable(model, reading, first)
    scores = dict(scores_of({first.method: first, **dict(results)}, piece.slots_N.tolist()))
    generator = np.random.default_rng([settings.seed, number])
    drawn_RN = generator.standard_normal((settings.draws, len(piece.slots_N)))
    curves = output_curves(model, piece, [*scores.values(), *drawn_RN], settings)
    values = {arm: measures_of(each) for arm, each in zip(scores, curves, strict=False)}
    of_arms = {arm: probabilities([each]) for arm, each in zip(scores, curves, strict=False)}
    random = curves[len(scores) :]
    values[CHANCE], of_arms[CHANCE] = mean_values([measures_of(each) for each in random]), probabilities(random)
    chance: dict[MethodArm, Values] = {}
    if known is not None:
        deciding_N = np.isin(piece.slots_N.numpy(), known.deciding)
        for arm, scores_N in scores.items():
            values[arm] |= segmentation.segmentation(scores_N, deciding_N)
            chance[arm] = segmentation.chance(scores_N, deciding_N, generator, settings.permutations)
        values[CHANCE] |= mean_values([segmentation.segmentation(each_N, deciding_N) for each_N in drawn_RN])
    return EvaluatedText(piece.kind, data_of(text), scores, values, chance, of_arms)


def output_curves(
    model: LoadedModel, text: PerturbableText, scores: Sequence[Floats], settings: EvaluationSettings
) -> list[dict[str, OutputCurve]]:
    """By procedure, the curves of every list of scores. The model reads each variant of the text once."""
    standing_XFN = np.stack([_standing(scores_N, settings.order, name) for scores_N in scores for name in PROCEDURES])
    unique_VN, number_X = np.unique(standing_XFN.reshape(-1, standing_XFN.shape[-1]), axis=0, return_inverse=True)
    outputs = run_perturbed(model, text, unique_VN, way=settings.replace)
    number_APF = number_X.reshape(len(scores), len(PROCEDURES), -1)
    return [
        {
            name: OutputCurve(
                outputs.probability_V[number_F], outputs.logit_V[number_F], outputs.change_V[number_F], outputs.outputs
            )
            for name, number_F in zip(PROCEDURES, number_PF, strict=True)
        }
        for number_PF in number_APF
    ]


def _standing(scores_N: Floats, order: str, name: str) -> Bools:
    """standing_FN of one procedure."""
    procedure = PROCEDURES[name]
    return standing_tokens(slots_in_order(scores_N, procedure, order), procedure.action)


def mean_values(values: Sequence[Values]) -> dict[str, float]:
    """The mean of every measure."""
    return {name: float(np.mean([each[name] for each in values])) for name in values[0]}


def probabilities(curves: Sequence[Mapping[str, OutputCurve]]) -> dict[str, Floats]:
    """By procedure, the mean probability of the explained output at every step."""
    return {name: np.mean([each[name].probability_F for each in curves], axis=0) for name in PROCEDURES}
