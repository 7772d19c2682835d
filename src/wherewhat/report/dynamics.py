"""The page of nets that learn to follow numbers or letters: how their heads become positional or symbolic."""

from typing import Any

import polars as pl

from wherewhat.report.claims import the_claims
from wherewhat.report.drawn import drawn, figure_of, panel, titled
from wherewhat.report.dynamics_charts import (
    TASKS,
    accuracy_by_hops,
    accuracy_by_length,
    by_layer_and_step,
    frequency_by_depth,
    leads_by_length,
    purity_and_accuracy,
    ways_in_the_plane,
)
from wherewhat.report.dynamics_tables import RULES, tables_of
from wherewhat.report.made import how_it_was_made
from wherewhat.report.measured import Manifest
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.tags import Html, tag

TITLES = {"number": "The number task", "letter": "The letter task"}
EXPLAINED = {
    "number": "Step back by the integers until a letter is reached: a head must know how far away a token stands.",
    "letter": "Go to the pair that begins with the letter you hold, until one has an integer: only contents count.",
}
LEDE = (
    "Two tasks with the same hops: one asks where tokens stand, the other what they say. A small decoder learns each "
    "of them from nothing while every head is watched: which kind it becomes, and when."
)


def page_of_dynamics(result: pl.DataFrame, manifest: Manifest) -> Page:
    """Lay out what was seen while the nets learnt, beside what was published."""
    about = manifest.get("about") or {}
    tables = tables_of(result, manifest)
    charts = charts_of(about, tables)
    return Page(
        title="How heads become positional or symbolic",
        kind="Reproduction of arXiv 2605.31558",
        lede=LEDE,
        facts=_facts(about),
        sections=[
            learning(),
            the_plane(tables),
            layer_by_layer(),
            purity(),
            longer(tables),
            leads(),
            speeds(),
            the_claims(manifest),
            how_it_was_made(manifest),
        ],
        charts=charts,
        tables=tables,
        figures=figures_of(charts, tables),
    )


def learning() -> Section:
    """Accuracy by hops over training, both tasks side by side."""
    lede = (
        "How many test sequences are answered exactly as training goes on, by the hops they need. Bold lines are means "
        "over seeds with their 95 % interval (of a single seed, over its test sequences), thin ones single seeds."
    )
    return Section("learning", "Hop by hop", lede, _for_each("hops", "accuracy by hops over training", 330), "Hops")


def the_plane(tables: dict[str, Columns]) -> Section:
    """Every head's way through the plane of the published scores."""
    lede = (
        "Each line is one head's way, from a ring before training to a disc at its end. Flat attention stands in the "
        "upper right corner, purely positional heads go to the lower right, purely symbolic ones to the upper left."
    )
    seeds = sorted(set(tables["ways"]["seed"]))
    views = [(f"seed {seed}", {"seed": str(seed)}) for seed in seeds]
    label = "the way of every head through the plane of the positional and the symbolic score"
    return Section("plane", "The way of every head", lede, _for_each("ways", label, 420, views=views), "Plane")


def layer_by_layer() -> Section:
    """Shares by layer and step."""
    lede = (
        "The exact shares of the logits' variance, layer by layer as training goes on, as means over seeds: the more "
        "colour, the more goes by place, or by content."
    )
    views = [("Both", {"tint": "difference"}), ("Place", {"tint": "position"}), ("Content", {"tint": "content"})]
    return Section(
        "layers", "Layer by layer", lede, _for_each("layers", "shares by layer and step", 230, views=views), "Layers"
    )


def purity() -> Section:
    """Pure heads and right answers over training."""
    lede = (
        "How many heads are pure, beside how many answers are right. By the published scores a head is pure if one is "
        "at least 1 − γ and the other at most γ; by exact shares if one share is at least 1 − γ."
    )
    views = [(title, {"rule": rule}) for rule, title in RULES]
    return Section(
        "purity", "Pure heads", lede, _for_each("pure", "pure heads and accuracy", 300, views=views), "Purity"
    )


def longer(tables: dict[str, Columns]) -> Section:
    """Accuracy for longer inputs."""
    lede = (
        "The trained nets read longer inputs: more of the window's tokens stand before it, and every step of a path is "
        "as long as ever. The dotted line is the length that was learnt; dashes are published, learnt there from 17 "
        "tokens."
    )
    kinds = sorted(set(tables["lengths"]["hops"]))
    views = [("All" if kind == "all" else kind, {"hops": kind}) for kind in kinds if kind != "all"]
    chart = drawn("lengths", "accuracy by input length", height=340, views=[("All", {"hops": "all"}), *views])
    return Section("longer", "Longer inputs", lede, panel(chart), "Longer")


def leads() -> Section:
    """The lead of the best key, beside the bounds of the theory."""
    lede = (
        "By how much the best key leads the second at the last token, as inputs grow longer, for the most positional "
        "head of the number task and the most symbolic one of the letter task."
    )
    note = (
        "Logits are divided by their scale and by the norms of query and key, which makes them cosines, as in the "
        "theory. Dashes are its bounds for a head of one frequency, at the head's mean frequency θ and at the "
        "published ones; where such a line ends, no lead is left. A head of many frequencies is not held to them."
    )
    body = panel(drawn("leads", "leads and bounds by input length", height=380), tag("p", note, class_="note"))
    return Section("leads", "The lead of the best key", lede, body, "Leads")


def speeds() -> Section:
    """Mean frequency by depth."""
    lede = (
        "Which rotary frequencies each layer relies on at the end, from the first layer to the last; dashes are "
        "published for 12 layers of 64 frequencies, as a number (ring) or as a range (bar). A head that uses all "
        "alike stands in the middle."
    )
    chart = drawn("speeds", "mean frequency by layer", height=320)
    return Section("speeds", "Fast or slow", lede, panel(chart), "Frequencies")


def charts_of(about: Any, tables: dict[str, Columns]) -> dict[str, Spec]:
    """Every chart, by the name its place asks for."""
    hops = sorted({kind for kind in tables["hops"]["hops"] if kind != "all"})
    lengths = sorted(set(tables["lengths"]["length"]))
    return {
        "hops": accuracy_by_hops(hops),
        "ways": ways_in_the_plane(int(about.get("layers") or 1)),
        "layers": by_layer_and_step(),
        "pure": purity_and_accuracy(),
        "lengths": accuracy_by_length(lengths),
        "leads": leads_by_length(lengths),
        "speeds": frequency_by_depth(),
    }


def figures_of(charts: dict[str, Spec], tables: dict[str, Columns]) -> dict[str, Figure]:
    """The pictures for files."""
    seed = str(min(tables["ways"]["seed"], default=0))
    made = {}
    for task in TASKS:
        for name, size in (("hops", (560, 340)), ("ways", (520, 460)), ("layers", (560, 240)), ("pure", (560, 320))):
            words = {"task": task, "seed": seed, "tint": "difference", "rule": RULES[0][0]}
            made[f"{name}_{task}"] = figure_of(titled(charts[name], TITLES[task]), tables, size, words)
    made["lengths"] = figure_of(titled(charts["lengths"], "Longer inputs"), tables, (640, 360), {"hops": "all"})
    for name, title in (("leads", "The lead of the best key"), ("speeds", "Fast or slow")):
        made[name] = figure_of(titled(charts[name], title), tables, (640, 380))
    return made


def _for_each(chart: str, label: str, height: int, *, views: Any = ()) -> Html:
    """One chart for each task, side by side."""
    sides = [
        panel(
            tag("h3", TITLES[task]),
            tag("p", EXPLAINED[task], class_="note") if chart == "hops" else "",
            drawn(chart, f"{TITLES[task]}: {label}", height=height, words={"task": task}, views=list(views)),
        )
        for task in TASKS
    ]
    return tag("div", *sides, class_="two")


def _facts(about: Any) -> list[tuple[str, str]]:
    facts = [(f"{about['layers']} × 1", "layers × heads")] if about.get("layers") else []
    for key, what in (("steps", "steps"), ("batch", "sequences a step"), ("length", "tokens"), ("seeds", "seeds")):
        if about.get(key):
            facts.append((f"{about[key]:,}", what.removesuffix("s") if about[key] == 1 else what))
    return facts
