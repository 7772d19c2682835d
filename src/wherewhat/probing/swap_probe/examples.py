"""A few examples for the page: what the model read before and after a swap, and its answers."""

from dataclasses import replace

import numpy as np

from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.estimates import CONTROL, ORIGINAL, SWAPPED
from wherewhat.probing.swap_probe.item_outputs import NOWHERE, ItemOutputs
from wherewhat.probing.swap_probe.swapped_example import SwappedExample
from wherewhat.tables.manifest.probe import ModelAnswer, ProbeExample, SwappedSentence

EACH = 3  # so many first ones, and so many with the largest effect
ANSWERS_FIRST = 1000.0  # a changed answer counts before every distance
DIGITS = 6


def shown_examples(outputs: ItemOutputs) -> list[ProbeExample]:
    """Some examples of an item: the first ones, and those with the largest effect on what the model computes."""
    library, before_N, after_N = outputs.library, outputs.kinds[ORIGINAL], outputs.kinds[SWAPPED]
    if library.outputs.nats_N is not None and library.outputs.tokens_N is not None:
        per_token_N = library.outputs.nats_N / np.maximum(library.outputs.tokens_N, 1)
        effect_N = np.asarray(per_token_N[after_N] - per_token_N[before_N])
    else:
        effect_N = np.nan_to_num(library.distances(after_N, before_N))
        if library.outputs.answer_N is not None:
            changed_N = (library.answers(before_N) != library.answers(after_N)).astype(np.float64)
            effect_N = np.asarray(effect_N + ANSWERS_FIRST * changed_N)
    first = list(range(min(EACH, len(outputs.item.examples))))
    most = [number for number in np.argsort(-effect_N, kind="stable").tolist() if number not in first][:EACH]
    chosen = [*((number, "first") for number in first), *((number, "most moved") for number in most)]
    return [_example(outputs, number, why) for number, why in chosen]


def _example(outputs: ItemOutputs, number: int, chosen: str) -> ProbeExample:
    answers = {kind: _answer(outputs, kind, number) for kind in (ORIGINAL, SWAPPED, CONTROL)}
    return replace(
        example_in_words(outputs.library.data, outputs.item.name, outputs.item.examples[number]),
        chosen=chosen,
        answers={kind: answer for kind, answer in answers.items() if answer is not None},
    )


def example_in_words(data: ProbeDataset, item: str, swapped: SwappedExample) -> ProbeExample:
    """One example of an item: its sentences before and after the swap, and after the control."""
    example = data.examples[swapped.index]
    controls = swapped.control or (None,) * len(example.sentences)
    return ProbeExample(
        data=data.name,
        item=item,
        where=example.where,
        label=example.label or None,
        new=swapped.answer or None,
        sentences=[
            SwappedSentence(
                words=list(sentence.words),
                swapped=list(now.words),
                order=None if now.order is None else list(now.order),
                spans=now.spans,
                roles=now.roles,
                control=() if control is None else list(control.words),
                control_order=None if control is None or control.order is None else list(control.order),
                control_spans=() if control is None else control.spans,
            )
            for sentence, now, control in zip(example.sentences, swapped.swapped, controls, strict=True)
        ],
    )


def _answer(outputs: ItemOutputs, kind: str, number: int) -> ModelAnswer | None:
    """What the model computed for one text."""
    place = outputs.kinds[kind][number] if kind in outputs.kinds else NOWHERE
    if place == NOWHERE:
        return None
    library, of_texts = outputs.library, outputs.library.outputs
    distance = library.distances(np.array([place]), outputs.kinds[ORIGINAL][[number]])[0]
    answer = ModelAnswer(distance=_rounded(distance))
    if of_texts.answer_N is not None:
        answer = replace(answer, label=library.model.labels[of_texts.answer_N[place]])
    if of_texts.nats_N is not None and of_texts.tokens_N is not None:
        answer = replace(answer, nats=_rounded(of_texts.nats_N[place] / max(1.0, of_texts.tokens_N[place])))
    return answer


def _rounded(value: float) -> float | None:
    return round(float(value), DIGITS) if np.isfinite(value) else None
