"""Locality and symmetry of the positional part: on a repeated word, explicit positions, and means over texts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, numbered
from wherewhat.capture.tokens.encode import token_names
from wherewhat.profiling.accumulate import LayerScores, Summary, summarise_all
from wherewhat.profiling.measurements.base import Measurement, MeasurementResult, ProfileContext
from wherewhat.profiling.positional_part.attention_matrix import PositionalMatrix, mask_name, reach_of
from wherewhat.profiling.positional_part.mean_vectors import (
    ExplicitPositions,
    contextual_scores,
    cut_alike,
    explicit_positions,
    mean_matrices,
)
from wherewhat.profiling.positional_part.repeated_word import (
    RepeatedWordAttention,
    WordProbe,
    prepare_probe,
    read_repeated_words,
)
from wherewhat.profiling.settings import PositionalSettings
from wherewhat.scores.base import POSITIONAL_PART
from wherewhat.scores.positional_part import (
    POSITIONAL_SCORES,
    ChanceLevels,
    baselines,
    both_ways,
    even_both_ways,
    even_levels,
    paired_mass,
    range_of,
)
from wherewhat.stats.bootstrap import Resampling
from wherewhat.tables.manifest.scores import FirstSlots, PositionalLayer, PositionalSection
from wherewhat.tables.schema import POSITIONAL

PHASE = "positional part"
NAMED = 5  # words that a note names
MOST = 64  # rows and columns of a matrix that the table holds

Matrices = Mapping[str, Mapping[AttentionSite, PositionalMatrix]]  # by source and site
Summaries = dict[AttentionSite, dict[str, Summary]]  # by site and score


def measure(context: ProfileContext) -> MeasurementResult:
    """Measure how local and how symmetric the positional part of every head's attention is, in three ways."""
    settings = context.settings.positional
    assert isinstance(settings, PositionalSettings)
    probe = prepare_probe(context.model, settings)
    attention = read_repeated_words(probe, context.phases.begin(PHASE))
    explicit = explicit_positions(probe, attention.inputs)
    numbers, texts = cut_alike(context.ids, probe.n)
    matrices: Matrices = {
        "identical": {site: sums.mean() for site, sums in attention.identical.items()},
        "unmasked": {site: sums.mean() for site, sums in attention.unmasked.items()},
        "delta": explicit.matrices,
        "mean": mean_matrices(probe, texts),
    }
    of_texts = {source: by_site for source, by_site in matrices.items() if source != "unmasked"}
    contextual = contextual_scores(probe, numbers, texts, of_texts)
    summaries = _summaries(matrices, contextual, settings.seed, context.resampling)
    layers = numbered(probe.sites)
    under = {name: baselines(allowed_TT, settings.seed) for name, allowed_TT in attention.masks.items()}
    result = MeasurementResult(
        summaries=summaries,
        scores={
            score.name: replace(score, range=range_of(score.name.rpartition(".")[2], probe.n))
            for score in POSITIONAL_SCORES
            if any(score.name in by_name for by_name in summaries.values())
        },
        notes=_notes(probe, attention, explicit, texts, len(context.ids)),
        section=PositionalSection(
            n=probe.n,
            words=len(probe.words_W),
            baselines={"n": probe.n, **baselines(both_ways(probe.n), settings.seed), **under},
            layers=_layer_entries(matrices, summaries, layers, len(texts[0]) if texts else 0),
        ),
        matrices=_matrix_rows(context.model.id, matrices, layers),
    )
    named = context.settings.named(POSITIONAL_PART)
    return result.only(named) if named else result


def _summaries(
    matrices: Matrices, contextual: Mapping[AttentionSite, LayerScores], seed: int, resampling: Resampling
) -> Summaries:
    """Every score of every site: those of the matrices, then the contextual ones."""
    summaries: Summaries = {site: {} for site in matrices["identical"]}
    levels = ChanceLevels(seed)
    for source, by_site in matrices.items():
        for site, matrix in by_site.items():
            by_measure = matrix.summaries(levels.under(matrix.allowed_TT))
            summaries[site] |= {f"{source}.{measure}": summary for measure, summary in by_measure.items()}
    for site, layer in contextual.items():
        summaries[site] |= summarise_all(layer, resampling)
    return summaries


def _layer_entries(
    matrices: Matrices, summaries: Summaries, layers: Mapping[AttentionSite, int], short: int
) -> list[PositionalLayer]:
    """For every source and layer: measures of the mean matrix of its heads, and the mean of its heads' own measures.

    The latter also on the first `short` slots alone, as many as the texts have, so that sources can be compared.
    """
    entries = []
    for source, by_site in matrices.items():
        for site, matrix in by_site.items():
            together, n = matrix.together(), len(matrix.allowed_TT)
            back, ahead = reach_of(matrix.allowed_TT)
            entries.append(
                PositionalLayer(
                    layer=layers[site],
                    source=source,
                    n=n,
                    mask=mask_name((back, ahead)),
                    back=back,
                    ahead=ahead,
                    heads={name: float(np.nanmean(summaries[site][f"{source}.{name}"].value_H)) for name in together},
                    together=together,
                    first=FirstSlots(n=short, heads=matrix.first(short)) if 0 < short < n else None,
                    paired=[round(mass, 6) for mass in paired_mass(matrix.attention_HTT).tolist()],
                )
            )
    return sorted(entries, key=lambda entry: entry.layer)


def _matrix_rows(model: str, matrices: Matrices, layers: Mapping[AttentionSite, int]) -> pl.DataFrame:
    """positional.parquet: every matrix, or its first slots."""
    tables = [pl.DataFrame(schema=POSITIONAL)]
    for source, by_site in matrices.items():
        for site, matrix in by_site.items():
            some_HTT = matrix.attention_HTT[:, :MOST, :MOST].numpy()
            heads, slots, _ = some_HTT.shape
            head, query, key = (axis.ravel() for axis in np.indices((heads, slots, slots)))
            columns = {"model": model, "layer": layers[site], "head": head, "source": source}
            columns |= {"query": query, "key": key, "attention": some_HTT.ravel()}
            tables.append(pl.DataFrame(columns, schema=POSITIONAL))
    return pl.concat(tables).sort("layer", "head", maintain_order=True)


def within(measured: MeasurementResult, heads: pl.DataFrame) -> MeasurementResult:
    """Only the layers and heads that the table of heads has rows of."""
    if measured.matrices is None:
        return measured
    matrices = measured.matrices.join(heads.select("layer", "head").unique(), on=["layer", "head"], how="semi")
    kept = set(heads["layer"].to_list())
    layers = [entry for entry in measured.section.layers if entry.layer in kept]
    return replace(measured, matrices=matrices, section=replace(measured.section, layers=layers))


def _notes(
    probe: WordProbe,
    attention: RepeatedWordAttention,
    explicit: ExplicitPositions,
    texts: Sequence[Tensor],
    total_texts: int,
) -> list[str]:
    """Sentences that keep a reader from misreading the scores."""
    return [
        *_about_identical(probe, attention),
        *_about_masks(probe, attention),
        *_about_delta(probe, explicit),
        f"mean and the contextual parts use the first {len(texts[0])} tokens of {len(texts)} of {total_texts} texts. "
        "The contextual part is each text's attention divided by the positional one, with rows normalised again."
        if len(texts) >= 2
        else "mean was not measured: it needs at least 2 texts of which half have 3 tokens or more.",
    ]


def _about_identical(probe: WordProbe, attention: RepeatedWordAttention) -> list[str]:
    few = ", ".join(token_names(probe.model, probe.words_W[:NAMED]))
    more = ", ..." if len(probe.words_W) > NAMED else ""
    under = [
        f"{even_levels(mask_TT)['locality']:.3f} under the mask: {name}" for name, mask_TT in attention.masks.items()
    ]
    masked = f" ({', '.join(under)})" if under else ""
    notes = [
        f"The positional part was measured on texts of n = {probe.n} copies of one word, for {len(probe.words_W)} "
        f"words ({few}{more}), without special tokens; attention was averaged over words before it was measured. "
        f"Locality depends on n: uniform attention gets {even_both_ways(probe.n):.3f} here{masked}, so compare only at "
        "the same n. Above the first layer the hidden states of a repeated word may differ by slot, so the values "
        "include the work of lower layers."
    ]
    if probe.n < probe.settings.length:
        notes.append(f"{probe.settings.length} copies were requested, but the model holds {probe.n}.")
    if len(probe.words_W) < probe.settings.words:
        notes.append(f"{probe.settings.words} words were requested, but the vocabulary has {len(probe.words_W)}.")
    if len(probe.measured) < len(probe.sites):
        notes.append("A decoder reads its text shifted by one token; the positional part is about the encoder.")
    return notes


def _about_masks(probe: WordProbe, attention: RepeatedWordAttention) -> list[str]:
    notes = []
    if attention.masked:
        notes.append(
            "Under a causal mask symmetry is meaningless, so identical has only locality, excess and "
            "off_diagonal_locality there, compared with uniform attention under the mask; unmasked removes the mask "
            "from the same logits and has all measures."
        )
    reaches = {site: reach_of(sums.allowed_TT) for site, sums in attention.identical.items()}
    if windows := [site for site, (back, _) in reaches.items() if back is not None]:
        names = ", ".join(sorted({mask_name(reaches[site]) for site in windows}))
        notes.append(
            f"In {_layers(windows, probe)} a token sees only a window ({names}): identical is compared with uniform "
            "attention inside it. Where logits are known outside the window, delta, mean and unmasked remove it as "
            "well, and show what heads would do with keys that they never see."
        )
    if hidden := attention.masked - set(attention.unmasked):
        notes.append(
            f"In {_layers(hidden, probe)} logits are not known for keys that the mask hides, so unmasked has no "
            "values, and delta and mean are measured under the mask."
        )
    return notes


def _about_delta(probe: WordProbe, explicit: ExplicitPositions) -> list[str]:
    notes = []
    if explicit.table:
        notes.append(
            "delta is the model's table of positions through the query and key weights of each layer, without biases; "
            "where the sum of token and position is normalised before the first layer, the table is scaled by that "
            "norm, averaged over probing words. Above the first layer the table no longer arrives unchanged, and delta "
            "shows what its weights would make of it."
        )
    by_sentence = {
        "delta is the attention of tokens that all have the same vector, the mean of the probing words: what still "
        "tells keys apart is what the logits know of slots.": explicit.relative,
        "a table of positions is added to the tokens too; delta leaves it out, identical and mean include it.": (
            explicit.both
        ),
        "there is no delta: the table of positions does not pass through linear weights.": explicit.nonlinear_table,
        "there is no delta: neither the logits nor a table depend on position.": explicit.neither,
        "logits are not linear in queries and keys, or these not in what the attention reads (some models normalise "
        "them inside): mean, and delta where all tokens share one vector, come from the mean vector there, not from "
        "the mean query and key.": explicit.nonlinear,
    }
    return notes + [f"In {_layers(sites, probe)} {sentence}" for sentence, sites in by_sentence.items() if sites]


def _layers(sites: Collection[AttentionSite], probe: WordProbe) -> str:
    """Some layers in words."""
    if len(sites) == len(probe.measured):
        return "all layers"
    layers = numbered(probe.sites)
    return f"layer {', '.join(str(number) for number in sorted(layers[site] for site in sites))}"


def _work(context: ProfileContext) -> int:
    settings = context.settings.positional
    return settings.words * settings.length + 2 * context.tokens if isinstance(settings, PositionalSettings) else 0


POSITIONAL_MATRICES = Measurement(
    name="positional",
    phase=PHASE,
    kinds=(POSITIONAL_PART,),
    is_wanted=lambda context: context.settings.positional is not None,
    work=_work,
    measure=measure,
)
