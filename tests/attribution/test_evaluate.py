"""The evaluation of methods: tables against sums by hand, chance levels, and what is refused."""

from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import numpy as np
import polars as pl
import pytest
import torch
from heads_of_models import classifier, model, tokenizer

from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.evaluation import curves, segmentation
from wherewhat.attribution.evaluation.arms import BASELINES, CHANCE, MethodArm
from wherewhat.attribution.evaluation.evaluate import AttributionEvaluation, evaluate_attribution
from wherewhat.attribution.evaluation.perturb import run_perturbed
from wherewhat.attribution.evaluation.settings import EvaluationSettings
from wherewhat.attribution.evaluation.truth import KnownText, known_texts
from wherewhat.attribution.evaluation.variants import perturbable
from wherewhat.attribution.result import AGGREGATES
from wherewhat.attribution.targets import Question
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.errors import UserError
from wherewhat.tables.schema import EVALUATION, EVALUATION_CURVES, EVALUATION_DIFFERENCES

FEW = EvaluationSettings(methods=("pa-lrp", "attnlrp"), max_texts=6, draws=3, permutations=20)


@pytest.fixture(scope="module")
def tiny() -> LoadedModel:
    return load_by_name("tiny", LoadSettings())


def numbers(read: LoadedModel, count: int = 6) -> list[KnownText]:
    """Texts of the number task alone."""
    return [text for text in known_texts(read, 2 * count) if text.source == "number"]


@pytest.fixture(scope="module")
def evaluation(tiny: LoadedModel) -> AttributionEvaluation:
    return evaluate_attribution(tiny, numbers(tiny), settings=FEW)


def value(frame: pl.DataFrame, measure: str, method: str, aggregate: str = "", **more: str) -> float:
    return float(frame.filter(measure=measure, method=method, aggregate=aggregate, **more)["value"].item())


def test_tables_have_one_row_per_number(evaluation: AttributionEvaluation) -> None:
    assert dict(evaluation.scores.schema) == EVALUATION
    assert dict(evaluation.differences.schema) == EVALUATION_DIFFERENCES
    assert dict(evaluation.curves.schema) == EVALUATION_CURVES
    arms = len(AGGREGATES) + 1 + 3
    assert evaluation.scores.height == arms * (len(curves.MEASURES) + len(segmentation.MEASURES))
    assert evaluation.curves.height == arms * len(curves.PROCEDURES) * (curves.STEPS + 1)
    baselines = [arm for arm in BASELINES if arm.method != "rollout"]
    assert evaluation.differences.height == len(baselines) * (arms - 1) * 15
    assert evaluation.scores["texts"].unique().to_list() == [6] and not evaluation.notes
    assert evaluation.scores["data"].unique().to_list() == ["number"]
    assert evaluation.replacement == "the mean embedding of all tokens"


def test_a_value_is_the_mean_over_texts_of_single_forward_passes(
    tiny: LoadedModel, evaluation: AttributionEvaluation
) -> None:
    values, found = [], []
    for known in numbers(tiny):
        attribution = replace(attribute(tiny, list(known.ids)), aggregate="absolute")
        text, scores = perturbable(tiny, list(known.ids), attribution), attribution.scores_T.tolist()
        ascending = sorted(range(len(scores)), key=lambda slot: scores[slot])
        areas = []
        for order in (ascending, ascending[::-1]):
            rows = np.ones((11, len(scores)), dtype=bool)
            for step in range(11):
                rows[step, order[: -(-step * len(scores) // 10)]] = False
            each = [run_perturbed(tiny, text, row[None]).probability_V[0] for row in rows]
            areas.append(sum((left + right) / 20 for left, right in pairwise(each)))
        values.append(areas[0] - areas[1])
        mean = fmean(scores)
        found.append(fmean((score > mean) == (slot in known.deciding) for slot, score in enumerate(scores)))
    assert value(evaluation.scores, "abpc", "pa-lrp", "absolute") == pytest.approx(fmean(values), abs=1e-5)
    assert value(evaluation.scores, "accuracy", "pa-lrp", "absolute") == pytest.approx(fmean(found), abs=1e-12)


def test_differences_are_paired(evaluation: AttributionEvaluation) -> None:
    for measure in ("abpc", "miou", "merf"):
        above, below = (value(evaluation.scores, measure, *arm) for arm in (("pa-lrp", "signed"), ("attnlrp",)))
        gap = value(evaluation.differences, measure, "pa-lrp", "signed", against="attnlrp")
        assert gap == pytest.approx(above - below, abs=1e-12)
    texts = [text.values for text in evaluation.texts]
    gaps = [each[MethodArm("pa-lrp", "signed")]["abpc"] - each[MethodArm("attnlrp")]["abpc"] for each in texts]
    row = evaluation.differences.filter(method="pa-lrp", aggregate="signed", against="attnlrp", measure="abpc")
    assert min(gaps) <= row["low"].item() <= row["value"].item() <= row["high"].item() <= max(gaps)


def test_chance_levels_come_from_the_same_texts(evaluation: AttributionEvaluation) -> None:
    scores = evaluation.scores
    assert scores.filter(measure="abpc")["chance"].unique().to_list() == [0.0]
    for measure in ("aupc", "auac_generation", "merf"):
        assert scores.filter(measure=measure)["chance"].unique().to_list() == [value(scores, measure, "random")]
    of_scores = {
        arm: fmean(text.chance[arm]["miou"] for text in evaluation.texts) for arm in (MethodArm("pa-lrp", "signed"),)
    }
    row = scores.filter(measure="miou", method="pa-lrp", aggregate="signed")
    assert row["chance"].item() == pytest.approx(of_scores[MethodArm("pa-lrp", "signed")])
    assert row["value"].item() > 0.7 > 0.6 > row["chance"].item()


def test_curves_begin_and_end_with_the_same_texts(evaluation: AttributionEvaluation) -> None:
    """Whatever the order: with all tokens the text is whole, and without any nothing of it is left."""
    ends = evaluation.curves.filter(pl.col("share").is_in([0.0, 1.0]))
    ends = ends.with_columns(whole=(pl.col("share") == 1.0) == pl.col("procedure").str.contains("generation|insertion"))
    for whole, rows in ends.group_by("whole"):
        values = rows["value"].to_list()
        assert max(values) - min(values) < 1e-6, whole
    read = load_by_name("tiny", LoadSettings())
    whole = fmean(attribute(read, list(text.ids)).output.probability for text in numbers(read))
    assert ends.filter("whole")["value"][0] == pytest.approx(whole, abs=1e-6)


def test_the_same_seed_gives_the_same_tables(tiny: LoadedModel, evaluation: AttributionEvaluation) -> None:
    again, other = (evaluate_attribution(tiny, numbers(tiny), settings=replace(FEW, seed=seed)) for seed in (0, 1))
    assert again.scores.equals(evaluation.scores) and again.differences.equals(evaluation.differences)
    assert not other.scores.equals(evaluation.scores)


def test_random_orders_differ_by_text_and_seed(tiny: LoadedModel) -> None:
    text, settings = numbers(tiny, 1)[0], replace(FEW, methods=("attnlrp",), draws=1)
    first, second = evaluate_attribution(tiny, [text, text], settings=settings).texts
    other = evaluate_attribution(tiny, [text], settings=replace(settings, seed=1)).texts[0]
    drawn, explained = (
        [each.values[arm]["merf"] for each in (first, second, other)] for arm in (CHANCE, MethodArm("attnlrp"))
    )
    assert len({round(area, 3) for area in drawn}) == 3
    assert explained == pytest.approx([explained[0]] * 3, rel=1e-5)


def test_texts_are_summarised_by_where_they_are_from(tiny: LoadedModel, evaluation: AttributionEvaluation) -> None:
    both = evaluate_attribution(tiny, [*numbers(tiny), torch.tensor(numbers(tiny)[0].ids)], settings=FEW)
    assert both.scores["data"].unique(maintain_order=True).to_list() == ["number", "texts"]
    assert both.scores.filter(data="number").equals(evaluation.scores)
    assert both.curves.filter(data="number").equals(evaluation.curves)
    assert both.differences.filter(data="texts")["texts"].unique().to_list() == [1]
    own = evaluate_attribution(tiny, settings=replace(FEW, max_texts=2))
    assert own.scores["data"].unique(maintain_order=True).to_list() == ["number", "letter"]


def test_a_target_can_be_named(tiny: LoadedModel) -> None:
    ids = list(numbers(tiny, 1)[0].ids)
    values = [
        value(evaluate_attribution(tiny, [Question(0, ids, target)], settings=FEW).scores, "merf", "attnlrp")
        for target in ("", 20)
    ]
    assert values[0] > values[1]  # the logit of another answer is lower


def test_left_to_right_and_right_to_left_are_each_others_reverse(evaluation: AttributionEvaluation) -> None:
    left, right = (value(evaluation.scores, "abpc", f"{a} to {b}") for a, b in (("left", "right"), ("right", "left")))
    assert left == pytest.approx(-right, abs=1e-12)


def test_texts_answered_wrongly_are_left_out(tiny: LoadedModel) -> None:
    texts = numbers(tiny, 3)
    wrong = replace(texts[0], answer=texts[0].answer + 1)
    settings = replace(FEW, methods=("attnlrp",))
    evaluation = evaluate_attribution(tiny, [wrong, *texts[1:]], settings=settings)
    assert evaluation.notes == ["tiny answers 1 of 3 texts (number) wrongly; these are not evaluated."]
    assert evaluation.scores["texts"].unique().to_list() == [2]
    with pytest.raises(UserError, match="tiny answers none of 1 texts correctly; train it, or give other texts"):
        evaluate_attribution(tiny, [wrong], settings=settings)


def test_texts_without_known_tokens_have_curves_alone() -> None:
    read = wrap_module(classifier("bert", "BertForSequenceClassification"), tokenizer("around"))
    settings = EvaluationSettings(methods=("attnlrp",), draws=2)
    evaluation = evaluate_attribution(read, ["a b c d", "e f g"], settings=settings)
    assert set(evaluation.scores["measure"]) == set(curves.MEASURES)
    assert evaluation.replacement == "the unknown token [UNK]"
    single = evaluate_attribution(read, ["a b c d"], settings=settings).scores
    assert single["low"].null_count() == single.height  # one text has no interval


def test_a_language_model_is_evaluated_on_repeated_tokens() -> None:
    read = wrap_module(model("llama", "LlamaForCausalLM"), tokenizer("before"))
    texts = [torch.tensor(text.ids) for text in known_texts(read, 2)]
    evaluation = evaluate_attribution(read, texts, settings=EvaluationSettings(methods=("attnlrp",), draws=2))
    assert value(evaluation.scores, "abpc", "attnlrp") == pytest.approx(
        value(evaluation.scores, "auac_pruning", "attnlrp") - value(evaluation.scores, "aupc", "attnlrp")
    )


def test_the_published_order_differs_where_scores_are_negative(tiny: LoadedModel) -> None:
    texts, methods = numbers(tiny, 3), ("cp-lrp",)
    ours, theirs = (
        evaluate_attribution(tiny, texts, settings=replace(FEW, methods=methods, order=order))
        for order in ("signed", "published")
    )
    same = ("auac_generation", "aupc", "merf")
    assert all(
        value(ours.scores, name, "cp-lrp") == pytest.approx(value(theirs.scores, name, "cp-lrp")) for name in same
    )
    assert value(ours.scores, "auac_pruning", "cp-lrp") != value(theirs.scores, "auac_pruning", "cp-lrp")


def test_random_orders_are_a_baseline_of_their_own(evaluation: AttributionEvaluation) -> None:
    assert all(CHANCE not in text.scores and CHANCE in text.values for text in evaluation.texts)
    assert abs(value(evaluation.scores, "abpc", "random")) < 0.3


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ("attnlpr",)}, "unknown method 'attnlpr'; did you mean 'attnlrp'"),
        ({"methods": ()}, "name at least one other method"),
        ({"order": "size"}, "unknown order 'size'"),
        ({"replace": "remove"}, "unknown way to take tokens away 'remove'"),
        ({"draws": 0}, "draws is 0; give at least 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        EvaluationSettings(**settings)  # type: ignore[arg-type]


def test_no_text_is_refused(tiny: LoadedModel) -> None:
    with pytest.raises(UserError, match="there is no text to evaluate on; give at least one"):
        evaluate_attribution(tiny, [])
