"""The explicit positional part: what a layer's weights make of positions, when contents are all alike or absent."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from wherewhat.capture.decompose.position_table import added_rows
from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.profiling.positional_part.copies import Probe
from wherewhat.profiling.positional_part.inputs import Call, MeanInputs, calls_of, feed_all
from wherewhat.profiling.positional_part.matrix import Matrix, Taken, opened, softmax_of
from wherewhat.profiling.positional_part.whole import Whole

FLAT = 1e-5  # attention that differs by less than this share from even attention is even
LINEAR = 1e-3  # of the largest logit: more than this is no rounding
ROUNDINGS = 64  # machine epsilons of the largest logit that rounding may come to


@dataclass
class Delta:
    """What was found, and how."""

    matrices: dict[AttentionSite, Matrix] = field(default_factory=dict)
    relative: list[AttentionSite] = field(default_factory=list)  # where slots have a say in the logits
    table: list[AttentionSite] = field(default_factory=list)  # where a table of positions is what there is
    both: list[AttentionSite] = field(
        default_factory=list
    )  # where the first was taken although there is a table as well
    bent: list[AttentionSite] = field(default_factory=list)  # where a table is there, but is not mapped linearly
    none: list[AttentionSite] = field(default_factory=list)  # where there is neither
    curved: list[AttentionSite] = field(default_factory=list)  # where the mean vector has not the mean query and key


def find_delta(probe: Probe, inputs: MeanInputs) -> Delta:
    """Take positions apart from contents in every layer.

    Where slots have a say in the logits, every token is given the mean vector of the probing words to read: what still
    differs between keys is position. Elsewhere the rows of the model's table of positions are read alone.
    """
    found, calls = Delta(), calls_of(probe.sites)
    mean = {calls[site]: inputs.means(calls[site]) for site in probe.asked if calls[site] in inputs.sums}
    alike = {call: mean_NTD.mean(1, keepdim=True).expand_as(mean_NTD) for call, mean_NTD in mean.items()}
    taken = Taken(len(probe.words_W))
    if alike:
        feed_all(probe.model.module, probe.text_T, alike, probe.probing.batch_tokens, taken.take)
    rows = added_rows(probe.model.module, _some_texts(probe), probe.modules)
    for site in probe.asked:
        if site in taken.first and _slots_matter(taken.first[site]):
            found.matrices[site] = taken.matrix(site)
            found.relative.append(site)
            found.both += [site] if site.module in rows else []
    _from_tables(probe, [site for site in probe.asked if site not in found.matrices], rows, found)
    if mean:
        wholes = _in_multiples(probe, {call: mean_NTD[0] for call, mean_NTD in mean.items()})
        found.curved += [site for site in probe.asked if site in wholes and _is_curved(wholes[site])]
    return found


def _some_texts(probe: Probe) -> Tensor:
    """ids_NT of texts of the first probing words; fewer than slots, so that these are never mistaken for texts."""
    count = max(1, min(len(probe.words_W), probe.n - 1, probe.probing.batch_tokens // probe.n))
    return probe.words_W[:count, None].repeat(1, probe.n)


def _slots_matter(whole: Whole) -> bool:
    """Whether keys that say the same are told apart."""
    if whole.absorbed is not None:
        return not whole.absorbed
    even_T1 = 1 / whole.allowed_TT.sum(-1, keepdim=True).clamp_min(1)
    apart_HTT = (whole.attention_HTT - even_T1).abs() * whole.allowed_TT
    return bool((apart_HTT > FLAT * even_T1).any())


def _from_tables(probe: Probe, sites: list[AttentionSite], rows: Mapping[str, Tensor], found: Delta) -> None:
    """Read the rows of a table alone, where there is one."""
    calls = calls_of(probe.sites)
    there = [site for site in sites if site.module in rows]
    found.none += [site for site in sites if site.module not in rows]
    if not there:
        return
    wholes = _in_multiples(probe, {calls[site]: rows[site.module] for site in there})
    for site in there:
        matrix = _of_table(wholes[site])
        (found.bent if matrix is None else found.table).append(site)
        if matrix is not None:
            found.matrices[site] = matrix


def _in_multiples(probe: Probe, inputs: Mapping[Call, Tensor]) -> dict[AttentionSite, list[Whole]]:
    """Feed nothing at all, these inputs_TD, their opposites, and twice both."""
    times_N11 = torch.tensor([0.0, 1.0, -1.0, 2.0, -2.0])[:, None, None]
    fed = {call: times_N11.to(x) * x for call, x in inputs.items()}
    wholes: dict[AttentionSite, list[Whole]] = defaultdict(list)

    def take(number: int, whole: Whole) -> None:
        wholes[whole.site].append(whole)

    feed_all(probe.model.module, probe.text_T, fed, probe.probing.batch_tokens, take)
    return wholes


def _of_table(wholes: list[Whole]) -> Matrix | None:
    """Queries with keys without their biases; None where they are not linear in what is read."""
    product_HTT = _product(wholes) if wholes[0].open else None
    if product_HTT is None:
        return None
    allowed_TT = opened(wholes[0])
    return Matrix(softmax_of(product_HTT, allowed_TT), product_HTT, allowed_TT, 0)


def _is_curved(wholes: list[Whole]) -> bool:
    """Whether queries and keys are known not to be linear in what is read."""
    return wholes[0].logits_HTT is not None and _product(wholes) is None


def _product(wholes: list[Whole]) -> Tensor | None:
    """Queries with keys, if these are linear in what is read, but for biases.

    Of (a + q)(b + k), (a - q)(b - k) and a b, the mean of the first two less the last is q k; of twice q and k, 4 q k.
    """
    if any(whole.logits_HTT is None for whole in wholes):
        return None
    hidden_TT = ~opened(wholes[0])
    nothing, once, opposite, twice, other = (whole.log_HTT.double().masked_fill(hidden_TT, 0) for whole in wholes)
    product_HTT, fourfold_HTT = (once + opposite) / 2 - nothing, (twice + other) / 2 - nothing
    rounding = ROUNDINGS * torch.finfo(wholes[0].log_HTT.dtype).eps * twice.abs().amax()
    far = (fourfold_HTT - 4 * product_HTT).abs().amax() > 4 * LINEAR * product_HTT.abs().amax() + rounding
    return None if far else product_HTT
