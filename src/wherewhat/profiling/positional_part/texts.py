"""Real texts: what attentions read in the mean over them, and what is left of each without its positional part."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.profiling.accumulate import LayerScores
from wherewhat.profiling.hidden_states.means import common_length
from wherewhat.profiling.hidden_states.run import enter
from wherewhat.profiling.positional_part.copies import Probe, read_inputs, read_wholes
from wherewhat.profiling.positional_part.inputs import calls_of, feed_all
from wherewhat.profiling.positional_part.matrix import Matrix, Taken, softmax_of
from wherewhat.profiling.positional_part.measures import Chances, measures
from wherewhat.profiling.positional_part.probing import LEAST
from wherewhat.profiling.positional_part.whole import Whole

Matrices = Mapping[str, Mapping[AttentionSite, Matrix]]  # by source


def cut_alike(ids: Sequence[Tensor], n: int) -> tuple[list[int], list[Tensor]]:
    """Texts of one length, with their numbers: at most n tokens of those that most have; none if they are too short."""
    length = min(n, common_length([len(text) for text in ids]))
    numbers = [number for number, text in enumerate(ids) if len(text) >= length]
    return (numbers, [ids[number][:length] for number in numbers]) if length >= LEAST else ([], [])


def mean_matrices(probe: Probe, texts: Sequence[Tensor]) -> dict[AttentionSite, Matrix]:
    """What every layer makes of the mean vector of each slot: mean queries and keys, where projections are linear."""
    if len(texts) < 2:
        return {}
    inputs = read_inputs(probe, texts)
    calls = calls_of(probe.sites)
    asked = [site for site in probe.asked if calls[site] in inputs.sums]
    means = {calls[site]: inputs.means(calls[site]) for site in asked}
    if not means:
        return {}
    taken = Taken(len(texts))
    feed_all(probe.model.module, probe.text_T[: len(texts[0])], means, probe.probing.batch_tokens, taken.take)
    return {site: taken.matrix(site) for site in asked}


def contextual(
    probe: Probe, numbers: Sequence[int], texts: Sequence[Tensor], matrices: Matrices
) -> dict[AttentionSite, LayerScores]:
    """The measures of each text's attention divided by its positional part, each row normalised again."""
    accounts: dict[AttentionSite, LayerScores] = defaultdict(LayerScores)
    known = Chances(probe.probing.seed)

    def add(whole: Whole) -> None:
        there = {source: book[whole.site] for source, book in matrices.items() if whole.site in book}
        if not there:
            return
        allowed_TT, n = whole.allowed_TT, len(whole.allowed_TT)
        chance = known.under(allowed_TT)
        left = [without(whole, matrix.log_HTT[:, :n, :n]) for matrix in there.values()]
        found = measures(torch.cat(left), allowed_TT)  # of all sources at once, as if they were heads
        for name, value_H in found.items():
            for source, value in zip(there, value_H.split(len(left[0])), strict=True):
                answer = (value, torch.ones_like(value), chance[name])
                enter(accounts[whole.site], f"{source}.contextual.{name}", numbers[whole.text], answer, rows=n)

    if texts and matrices:
        for _ in read_wholes(probe, texts, add):
            pass
    return accounts


def without(whole: Whole, log_HTT: Tensor) -> Tensor:
    """Attention of logits from which the positional ones are taken off; keys of which these are not known stay out."""
    return softmax_of(whole.log_HTT.double() - log_HTT, whole.allowed_TT & log_HTT.isfinite())
