"""What layers make of mean vectors, of the probing words or of each slot over texts, and what that leaves of texts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.decompose.position_table import added_rows
from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.profiling.accumulate import LayerScores, WindowScore
from wherewhat.profiling.hidden_states.slot_means import common_length
from wherewhat.profiling.positional_part.attention_matrix import (
    AttentionMatrix,
    Measures,
    PositionalMatrix,
    groups_for,
    numpy_measures,
    softmax_of,
)
from wherewhat.profiling.positional_part.repeated_word import Call, MeanInputs, WordProbe, feed_inputs, read_texts
from wherewhat.profiling.settings import LEAST_COPIES
from wherewhat.scores.positional_part import CONTEXTUAL, ChanceLevels, measures

FLAT = 1e-5  # attention that differs by less than this share from uniform attention is uniform
LINEAR = 1e-3  # of the largest logit: more than this is no rounding
ROUNDINGS = 64  # machine epsilons of the largest logit that rounding may come to


@dataclass
class JackknifeMatrices:
    """Receives the matrices of every site: that of all words or texts first, then without each group of them.

    Only the first is kept whole: of the others the measures are enough.
    """

    count: int  # words or texts
    first: dict[AttentionSite, AttentionMatrix] = field(default_factory=dict)
    others: dict[AttentionSite, list[Measures]] = field(default_factory=lambda: defaultdict(list))

    def add(self, number: int, matrix: AttentionMatrix) -> None:
        if number == 0:
            self.first[matrix.site] = matrix
        else:
            unmasked = matrix.unmasked()
            self.others[matrix.site].append(numpy_measures(unmasked.attention_HTT, unmasked.allowed_TT))

    def positional(self, site: AttentionSite) -> PositionalMatrix:
        """The positional matrix of a site."""
        first = self.first[site].unmasked()
        return PositionalMatrix(
            first.attention_HTT.double(), first.log_HTT.double(), first.allowed_TT, self.count, self.others[site]
        )


@dataclass
class ExplicitPositions:
    """The matrices, and for every layer where they come from."""

    matrices: dict[AttentionSite, PositionalMatrix] = field(default_factory=dict)
    relative: list[AttentionSite] = field(default_factory=list)  # logits depend on slots
    table: list[AttentionSite] = field(default_factory=list)  # only a table of positions is there
    both: list[AttentionSite] = field(default_factory=list)  # logits were used, although there is a table as well
    nonlinear_table: list[AttentionSite] = field(default_factory=list)  # a table is there, but is not mapped linearly
    neither: list[AttentionSite] = field(default_factory=list)
    nonlinear: list[AttentionSite] = field(default_factory=list)  # the mean vector does not give mean query and key


def explicit_positions(probe: WordProbe, inputs: MeanInputs) -> ExplicitPositions:
    """Separate positions from contents in every layer.

    Where logits depend on slots, every token is given the mean vector of the probing words to read: what still differs
    between keys is position. Elsewhere the rows of the model's table of positions are read alone.
    """
    explicit, calls = ExplicitPositions(), probe.calls
    mean = {calls[site]: inputs.means(calls[site]) for site in probe.measured if calls[site] in inputs.sums}
    same = {call: mean_NTD.mean(1, keepdim=True).expand_as(mean_NTD) for call, mean_NTD in mean.items()}
    matrices = JackknifeMatrices(len(probe.words_W))
    if same:
        feed_inputs(probe, probe.text_T, same, matrices.add)
    # Fewer texts than slots, so that texts are never taken for slots.
    count = max(1, min(len(probe.words_W), probe.n - 1, probe.settings.batch_tokens // probe.n))
    rows = added_rows(probe.model.module, probe.words_W[:count, None].repeat(1, probe.n), probe.modules)
    for site in probe.measured:
        if site in matrices.first and _slots_matter(matrices.first[site]):
            explicit.matrices[site] = matrices.positional(site)
            explicit.relative.append(site)
            explicit.both += [site] if site.module in rows else []
    _add_tables(probe, [site for site in probe.measured if site not in explicit.matrices], rows, explicit)
    if mean:
        multiples = _in_multiples(probe, {call: mean_NTD[0] for call, mean_NTD in mean.items()})
        known = [site for site in probe.measured if site in multiples and multiples[site][0].logits_HTT is not None]
        explicit.nonlinear += [site for site in known if _product(multiples[site]) is None]
    return explicit


def _slots_matter(matrix: AttentionMatrix) -> bool:
    """Whether keys of the same content are told apart."""
    if matrix.position_free is not None:
        return not matrix.position_free
    even_T1 = 1 / matrix.allowed_TT.sum(-1, keepdim=True).clamp_min(1)
    apart_HTT = (matrix.attention_HTT - even_T1).abs() * matrix.allowed_TT
    return bool((apart_HTT > FLAT * even_T1).any())


def _add_tables(
    probe: WordProbe, sites: list[AttentionSite], rows: Mapping[str, Tensor], explicit: ExplicitPositions
) -> None:
    """Read the rows of a table alone, where there is one."""
    with_table = [site for site in sites if site.module in rows]
    explicit.neither += [site for site in sites if site.module not in rows]
    if not with_table:
        return
    multiples = _in_multiples(probe, {probe.calls[site]: rows[site.module] for site in with_table})
    for site in with_table:
        matrix = _table_matrix(multiples[site])
        (explicit.nonlinear_table if matrix is None else explicit.table).append(site)
        if matrix is not None:
            explicit.matrices[site] = matrix


def _in_multiples(probe: WordProbe, inputs: Mapping[Call, Tensor]) -> dict[AttentionSite, list[AttentionMatrix]]:
    """Feed zeros, these inputs_TD, their opposites, and twice both."""
    times_N11 = torch.tensor([0.0, 1.0, -1.0, 2.0, -2.0])[:, None, None]
    multiples = {call: times_N11.to(x) * x for call, x in inputs.items()}
    matrices: dict[AttentionSite, list[AttentionMatrix]] = defaultdict(list)
    feed_inputs(probe, probe.text_T, multiples, lambda _, matrix: matrices[matrix.site].append(matrix))
    return matrices


def _table_matrix(multiples: list[AttentionMatrix]) -> PositionalMatrix | None:
    """Products of queries and keys without their biases; None where these are not linear in what is read."""
    product_HTT = _product(multiples) if multiples[0].open else None
    if product_HTT is None:
        return None
    allowed_TT = multiples[0].opened_TT
    return PositionalMatrix(softmax_of(product_HTT, allowed_TT), product_HTT, allowed_TT, 0)


def _product(multiples: list[AttentionMatrix]) -> Tensor | None:
    """Products of queries and keys, if these are linear in what is read, but for biases.

    Of (a + q)(b + k), (a - q)(b - k) and a b, the mean of the first two less the last is q k; of twice q and k, 4 q k.
    """
    if any(matrix.logits_HTT is None for matrix in multiples):
        return None
    hidden_TT = ~multiples[0].opened_TT
    zero, single, opposite, twice, other = (matrix.log_HTT.double().masked_fill(hidden_TT, 0) for matrix in multiples)
    product_HTT, fourfold_HTT = (single + opposite) / 2 - zero, (twice + other) / 2 - zero
    rounding = ROUNDINGS * torch.finfo(multiples[0].log_HTT.dtype).eps * twice.abs().amax()
    far = (fourfold_HTT - 4 * product_HTT).abs().amax() > 4 * LINEAR * product_HTT.abs().amax() + rounding
    return None if far else product_HTT


def cut_alike(ids: Sequence[Tensor], n: int) -> tuple[list[int], list[Tensor]]:
    """Texts cut to one length that most have, at most n tokens, with their numbers; none if they are too short."""
    length = min(n, common_length([len(text) for text in ids]))
    numbers = [number for number, text in enumerate(ids) if len(text) >= length]
    return (numbers, [ids[number][:length] for number in numbers]) if length >= LEAST_COPIES else ([], [])


def mean_matrices(probe: WordProbe, texts: Sequence[Tensor]) -> dict[AttentionSite, PositionalMatrix]:
    """What every layer makes of the mean vector of each slot: mean queries and keys, where projections are linear."""
    if len(texts) < 2:
        return {}
    inputs, calls = MeanInputs(groups_for(len(texts), len(texts[0]))), probe.calls
    for _ in read_texts(probe, texts, None, inputs):
        pass
    sites = [site for site in probe.measured if calls[site] in inputs.sums]
    means = {calls[site]: inputs.means(calls[site]) for site in sites}
    if not means:
        return {}
    matrices = JackknifeMatrices(len(texts))
    feed_inputs(probe, probe.text_T[: len(texts[0])], means, matrices.add)
    return {site: matrices.positional(site) for site in sites}


def contextual_scores(
    probe: WordProbe,
    numbers: Sequence[int],
    texts: Sequence[Tensor],
    matrices: Mapping[str, Mapping[AttentionSite, PositionalMatrix]],
) -> dict[AttentionSite, LayerScores]:
    """The measures of each text's attention divided by its positional part, each row normalised again."""
    layers: dict[AttentionSite, LayerScores] = defaultdict(LayerScores)
    levels = ChanceLevels(probe.settings.seed)

    def add(matrix: AttentionMatrix) -> None:
        sources = {source: by_site[matrix.site] for source, by_site in matrices.items() if matrix.site in by_site}
        if not sources:
            return
        allowed_TT, n = matrix.allowed_TT, len(matrix.allowed_TT)
        chance = levels.under(allowed_TT)
        rest = [without_positional(matrix, positional.log_HTT[:, :n, :n]) for positional in sources.values()]
        by_name = measures(torch.cat(rest), allowed_TT)  # all sources at once, as if they were heads
        for name, value_X in by_name.items():
            for source, value_H in zip(sources, value_X.split(len(rest[0])), strict=True):
                score = WindowScore(value_H, torch.ones_like(value_H), chance[name], rows=n)
                layers[matrix.site].add(f"{source}.{CONTEXTUAL}.{name}", numbers[matrix.text], score)

    if texts and matrices:
        for _ in read_texts(probe, texts, add):
            pass
    return layers


def without_positional(matrix: AttentionMatrix, log_HTT: Tensor) -> Tensor:
    """Attention of logits minus the positional ones; keys whose positional logits are not known are left out."""
    return softmax_of(matrix.log_HTT.double() - log_HTT, matrix.allowed_TT & log_HTT.isfinite())
