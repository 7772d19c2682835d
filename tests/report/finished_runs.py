"""A small finished run of every kind, in a folder, for tests that damage one."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import test_report_canonical
import test_report_compare
import test_report_control
import test_report_edits
import test_report_word_swap
from synthetic import ROTARY, run_of
from synthetic_dynamics import dynamics_run
from synthetic_locality import locality_run
from synthetic_nope import nope_run
from synthetic_positional import World, add_positional
from synthetic_probes import dependencies
from synthetic_relevance import attribution_run
from synthetic_speech import speech_run
from synthetic_swaps import roles, words
from synthetic_syntax import syntax_run

from wherewhat.runs.base import Run
from wherewhat.runs.registry import AttributionRun, Comparison, EditEffect, ProbeRun, Profile, StudyRun
from wherewhat.tables.manifest.io import manifest_of
from wherewhat.tables.schema import COMPARE, EDIT, FREQUENCIES, HEADS, OFFSETS, POSITIONAL, SIMILARITY, frame

MADE = {  # what every manifest says of how its run was made
    "tool": "wherewhat",
    "versions": {"python": "3.11.7", "torch": "2.13.0"},
    "platform": "Linux",
    "git_commit": None,
    "command": "wherewhat",
    "seed": 0,
    "dtype": "float32",
    "device": "cpu",
    "seconds": 61.5,
    "peak_memory_bytes": 1_300_000_000,
    "notes": ["A note."],
}
CLAIM = {"claim": "It is so.", "published": "yes", "ours": "yes", "verdict": "agrees", "why": "By the numbers."}


def fitted(table: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    """A table with the columns of a schema, in their types; what it lacks is missing."""
    there = {name: pl.col(name) if name in table.columns else pl.lit(None) for name in schema}
    return table.select(there[name].cast(kind).alias(name) for name, kind in schema.items())


def profile() -> Profile:
    shape = replace(ROTARY, parts=(("decoder", 2),), heads=2, length=24, turns=4)
    made = add_positional(run_of(shape, random.Random(0)), World(n=8, short=8, causal=True), random.Random(0))
    heads, offsets, frequencies, manifest, positional = made
    return Profile(
        fitted(heads, HEADS),
        fitted(offsets, OFFSETS),
        fitted(frequencies, FREQUENCIES),
        manifest_of("heads", {**MADE, **manifest}),
        fitted(positional, POSITIONAL),
    )


def comparison() -> Comparison:
    rows = test_report_compare.rows("entropy", 0.9, 0.5) + test_report_compare.rows("identical.locality", 0.05, 0.3)
    told = test_report_compare.manifest(claims=[CLAIM])
    return Comparison(frame(rows, COMPARE), manifest_of("compare", {**MADE, **told}), frame([], SIMILARITY))


def edit() -> EditEffect:
    whole = test_report_edits.whole(loss=(0.25, 0.2, 0.3), copy=(-0.3, -0.4, -0.2))
    rows = [*whole, *test_report_edits.scored("position_share", 0.1, 0.2, -0.1, 0.0)]
    model, after = test_report_edits.MODEL, f"{test_report_edits.MODEL} · {test_report_edits.TOLD}"
    heads = pl.DataFrame(
        [
            {"model": name, "layer": n // 2, "head": n % 2, "score": score, "value": 0.2 + 0.1 * n, "part": "decoder"}
            for name in (model, after)
            for n in range(4)
            for score in ("position_share", "symbol_share")
        ]
    )
    manifest = manifest_of("edit", {**MADE, **test_report_edits.manifest()})
    return EditEffect(frame(rows, EDIT), fitted(heads, HEADS), manifest)


def probe(made: tuple[pl.DataFrame, dict[str, Any]]) -> ProbeRun:
    return ProbeRun(made[0], manifest_of("probe", {**MADE, **made[1]}))


def attribution() -> AttributionRun:
    table, manifest = attribution_run()
    return AttributionRun(table, manifest_of("attribute", {**MADE, **manifest}))


def reproduction(name: str, made: tuple[pl.DataFrame, dict[str, Any]]) -> StudyRun:
    result, told = made
    raw = {**MADE, **told, "reproduction": name, "claims": told.get("claims") or [CLAIM]}
    return StudyRun(result, manifest_of("reproduce", raw))


FINISHED: dict[str, Callable[[], Run]] = {
    "heads": profile,
    "compare": comparison,
    "edit": edit,
    "probe words": lambda: probe(words()),
    "probe roles": lambda: probe(roles()),
    "probe dependencies": lambda: probe(dependencies()),
    "attribute": attribution,
    "reproduce canonical": lambda: reproduction(
        "canonical", (test_report_canonical.made(), test_report_canonical.MANIFEST)
    ),
    "reproduce dynamics": lambda: reproduction("dynamics", dynamics_run()),
    "reproduce locality": lambda: reproduction("locality", locality_run()),
    "reproduce nope": lambda: reproduction("nope", nope_run()),
    "reproduce speech": lambda: reproduction("speech", speech_run()),
    "reproduce syntax": lambda: reproduction("syntax", syntax_run()),
    "reproduce word-swap": lambda: reproduction("word-swap", test_report_word_swap.run()),
    "reproduce control": lambda: reproduction("control", test_report_control.run()),
}
