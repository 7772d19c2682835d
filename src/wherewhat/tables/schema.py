"""The columns of every table, and how rows become a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

Schema = dict[str, Any]  # the type of every column, in order
HEAD: Schema = {"model": pl.String, "layer": pl.Int32, "head": pl.Int32}
ESTIMATE: Schema = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
HEADS: Schema = {
    **HEAD,
    "score": pl.String,
    **ESTIMATE,
    "chance": pl.Float64,  # the chance level, on the same rows
    "untrained": pl.Float64,  # the mean over the layer's heads with untrained weights; none: not measured
    "texts": pl.Int32,  # texts that the value is based on; intervals resample these
    "windows": pl.Int32,  # pieces of them that the model read
    "rows": pl.Int64,  # query rows that the value is based on; none: it has no rows of its own
    "part": pl.String,
}
OFFSETS: Schema = {**HEAD, "offset": pl.Int32, "mass": pl.Float64, "rows": pl.Int64}
FREQUENCIES: Schema = {**HEAD, "frequency": pl.Int32, "theta": pl.Float64, "measure": pl.String, "value": pl.Float64}
POSITIONAL: Schema = {
    **HEAD,
    "source": pl.String,  # identical, unmasked, delta or mean: how the positional part was measured
    "query": pl.Int32,
    "key": pl.Int32,
    "attention": pl.Float64,
}
OF_HEAD = "head."  # the prefix of head scores among the measures of a model
EDIT: Schema = {
    "model": pl.String,
    "edit": pl.String,  # in the words of the command line
    "layer": pl.Int32,  # of one head or one band of a sweep
    "head": pl.Int32,
    "band": pl.String,
    "measure": pl.String,  # loss, copy, induction, or a score of a head, such as head.entropy
    "state": pl.String,  # before, after or change
    **ESTIMATE,
    "texts": pl.Int32,
}
RESULT: Schema = {
    "part": pl.String,  # which table of the experiment: accuracy, by_slot, heads, ...
    "subject": pl.String,  # the condition
    "item": pl.String,  # a name inside it: a slot, a head, an edit, or nothing
    "at": pl.Float64,  # the x value: an angle, a step, a length
    "seed": pl.Int32,  # of the run; none: over all seeds, with the interval from low to high
    "measure": pl.String,
    **ESTIMATE,
}
EVALUATION_ARM: Schema = {
    "data": pl.String,  # where texts are from: a task, roles, repeated tokens, or texts that were given
    "method": pl.String,  # of attribution, or an order that knows nothing of the output, such as random
    "aggregate": pl.String,  # how the relevance of positions enters the scores; empty: it does not
}
EVALUATION: Schema = {
    **EVALUATION_ARM,
    "measure": pl.String,  # abpc, miou, ...
    **ESTIMATE,  # the mean over texts
    "chance": pl.Float64,  # what random orders, or the same scores on other tokens, give on the same texts
    "texts": pl.Int32,
}
EVALUATION_DIFFERENCES: Schema = {
    **EVALUATION_ARM,
    "against": pl.String,  # the baseline that is subtracted, text by text
    "measure": pl.String,
    **ESTIMATE,
    "texts": pl.Int32,
}
EVALUATION_CURVES: Schema = {
    **EVALUATION_ARM,
    "procedure": pl.String,  # generation, pruning, ...
    "share": pl.Float64,  # of tokens that were put in or taken away
    **ESTIMATE,  # the mean probability of the explained output
    "texts": pl.Int32,
}
CURVE: Schema = {"step": pl.Int64, "measure": pl.String, "value": pl.Float64}
SWEEP: Schema = {  # between key and seed: one column per field that changes
    "run": pl.String,
    "key": pl.String,  # identifies settings, code and data
    "seed": pl.Int64,
    "measure": pl.String,  # none: the run has no result
    "value": pl.Float64,
    "step": pl.Int64,
    "status": pl.String,  # done, begun, failed or waiting
    "seconds": pl.Float64,  # of all attempts
    "attempts": pl.Int64,
}
COMPARE: Schema = {
    "model": pl.String,  # the later of two, by its name in the comparison
    "against": pl.String,  # the earlier: the first of the list, or one draw of untrained weights
    "layer": pl.Int32,  # none: over all heads of the part
    "head": pl.Int32,  # none: over all heads of the layer
    "score": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
    "change": pl.Float64,
    "low": pl.Float64,  # of the change; none: it is exact, or there is a single text or head
    "high": pl.Float64,
    "part": pl.String,
}
PROBE: Schema = {
    "probe": pl.String,  # words, roles or dependencies
    "model": pl.String,
    "data": pl.String,  # the name of the treebank, or grammar
    "item": pl.String,  # what was swapped or searched: a size, roles, voice, a relation, all
    "layer": pl.Int32,  # none: the whole model, or the chosen head
    "head": pl.Int32,
    "side": pl.String,  # a label or a voice; to head or to dependent; none: all of them
    "kind": pl.String,  # original, swapped, control, change, ...; full, positional, contextual, ...
    "distance": pl.String,  # of a relation: all, 1, 2, 3-5 or 6+
    "measure": pl.String,
    **ESTIMATE,
    "count": pl.Int64,  # sentences or rows that the value is based on
}
RELEVANCE: Schema = {
    "text": pl.Int32,  # its number
    "token": pl.String,
    "slot": pl.Int32,  # none: summed over all slots, of one head or one frequency
    "source": pl.String,  # token; rotation, table, bias, ...: where position enters; combined: all of it
    "layer": pl.Int32,  # where position enters; none: tokens and scores, or all layers share it
    "method": pl.String,
    "value": pl.Float64,
    "output": pl.Int32,  # the number of what is explained, in the manifest
    "target": pl.String,  # and its name
    "head": pl.Int32,
    "frequency": pl.Int32,
}
RELEVANCE_DISTANCES: Schema = {
    "text": pl.Int32,
    "output": pl.Int32,
    "method": pl.String,
    "layer": pl.Int32,  # none: all layers together, which share a bias
    "distance": pl.Int32,  # from a query back to a key, in tokens
    "part": pl.String,  # of the logits of attention: content, or what position adds
    "value": pl.Float64,
}
SIMILARITY: Schema = {
    "model": pl.String,  # the later of two
    "against": pl.String,  # the first of the list
    "layer": pl.Int32,  # of a head of the later
    "head": pl.Int32,
    "against_layer": pl.Int32,  # of a head of the first
    "against_head": pl.Int32,
    "by": pl.String,  # what is compared: attention, or scores
    # Of attention the Jensen–Shannon divergence in bits; of scores their mean difference, each as a share of its
    # range. 0: identical, 1: nothing in common.
    "divergence": pl.Float64,
}

KEYS = {  # columns without missing values, by the file of the table
    "heads.parquet": ("model", "layer", "head", "score"),
    "offsets.parquet": ("model", "layer", "head", "offset"),
    "frequencies.parquet": ("model", "layer", "head", "frequency", "theta", "measure"),
    "positional.parquet": ("model", "layer", "head", "source", "query", "key"),
    "edit.parquet": ("model", "edit", "measure", "state"),
    "compare.parquet": ("model", "against", "score"),
    "similarity.parquet": ("model", "against", "layer", "head", "against_layer", "against_head", "divergence"),
    "probe.parquet": ("probe", "model", "data", "measure"),
    "relevance.parquet": ("text", "source", "method", "output"),
    "distances.parquet": ("text", "output", "method", "distance", "part"),
    "result.parquet": ("part", "subject", "measure"),
    "sweep.parquet": ("run", "key", "seed", "status"),
}
MOST = 10**6  # layers, heads, frequencies, slots: far more than any model has
LIMITS = {  # the smallest and the largest value of a column, in every table that has it
    **dict.fromkeys(("layer", "head", "against_layer", "against_head", "frequency", "query", "key"), (0, MOST)),
    **dict.fromkeys(("text", "slot", "output"), (0, MOST)),
    **dict.fromkeys(("texts", "windows", "rows", "count"), (0, 2**62)),
    **dict.fromkeys(("offset", "distance"), (-MOST, MOST)),
}


def frame(rows: Iterable[Sequence[object]], schema: Mapping[str, Any]) -> pl.DataFrame:
    """A table of rows; NaN becomes a missing value."""
    return without_nan(pl.DataFrame(list(rows), schema=dict(schema), orient="row"))


def without_nan(table: pl.DataFrame) -> pl.DataFrame:
    """The same table with missing values where there was NaN."""
    return table.with_columns(pl.selectors.float().fill_nan(None))
