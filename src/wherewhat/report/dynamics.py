"""The page of nets that learn to follow numbers or letters: how their heads become positional or symbolic."""

from typing import Any

import polars as pl

from wherewhat.report.claims import claims_section
from wherewhat.report.dynamics_charts import (
    TASKS,
    accuracy_by_hops,
    accuracy_by_length,
    by_layer_and_step,
    frequency_by_depth,
    margins_by_length,
    paths_in_the_plane,
    purity_and_accuracy,
)
from wherewhat.report.dynamics_tables import RULES, tables_of
from wherewhat.report.page import Columns, Figure, Page, Section, Spec
from wherewhat.report.panels import chart_widget, figure_of, panel, titled
from wherewhat.report.provenance import provenance_section
from wherewhat.report.tags import Html, tag
from wherewhat.tables.manifest.study import DynamicsManifest, DynamicsSection

TITLES = {"number": "The number task", "letter": "The letter task"}
EXPLAINED = {
    "number": "Step back by the given integers until a letter is reached: a head must know how far away a token is.",
    "letter": "Go to the pair that starts with the current letter until a pair has an integer: only content matters.",
}
LEDE = (
    "Two tasks with the same hops: one depends on the positions of tokens, the other on their content. A small decoder "
    "learns each from scratch, while every head is measured: which kind it becomes, and when."
)


def page_of_dynamics(result: pl.DataFrame, manifest: DynamicsManifest) -> Page:
    """Lay out what was measured while the nets learnt, with the published claims."""
    about = manifest.about
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
            margins(),
            frequencies(),
            claims_section(manifest.claims),
            provenance_section(manifest),
        ],
        charts=charts,
        tables=tables,
        figures=figures_of(charts, tables),
    )


def learning() -> Section:
    """Accuracy by hops over training, both tasks side by side."""
    lede = (
        "The share of test sequences with an exact answer during training, by the number of hops. Bold lines are means "
        "over seeds with their 95 % interval (with a single seed, over its test sequences), thin lines single seeds."
    )
    return Section("learning", "Hop by hop", lede, _for_each("hops", "accuracy by hops over training", 330), "Hops")


def the_plane(tables: dict[str, Columns]) -> Section:
    """Every head's path through the plane of the published scores."""
    lede = (
        "Each line is the path of one head, from a ring before training to a disc at its end. Flat attention is in the "
        "upper right corner, purely positional heads are in the lower right, purely symbolic heads in the upper left."
    )
    seeds = sorted(set(tables["paths"]["seed"]))
    views = [(f"seed {seed}", {"seed": str(seed)}) for seed in seeds]
    label = "path of every head in the plane of the positional and the symbolic score"
    return Section("plane", "The path of every head", lede, _for_each("paths", label, 420, views=views), "Plane")


def layer_by_layer() -> Section:
    """Shares by layer and step."""
    lede = (
        "The exact shares of the logits' variance by layer during training, as means over seeds: the stronger the "
        "colour, the more position, or content, explains."
    )
    views = [("Both", {"tint": "difference"}), ("Position", {"tint": "position"}), ("Content", {"tint": "content"})]
    return Section(
        "layers", "Layer by layer", lede, _for_each("layers", "shares by layer and step", 230, views=views), "Layers"
    )


def purity() -> Section:
    """Pure heads and accuracy during training."""
    lede = (
        "The share of pure heads, compared with accuracy. By the published scores a head is pure if one score is at "
        "least 1 − γ and the other at most γ; by exact shares it is pure if one share is at least 1 − γ."
    )
    views = [(title, {"rule": rule}) for rule, title in RULES]
    return Section(
        "purity", "Pure heads", lede, _for_each("pure", "pure heads and accuracy", 300, views=views), "Purity"
    )


def longer(tables: dict[str, Columns]) -> Section:
    """Accuracy on longer inputs."""
    lede = (
        "The trained nets read longer inputs: more tokens precede the window, and every hop is as long as before. The "
        "dotted line is the length of the training inputs; dashed lines are published, for training inputs of 17 "
        "tokens."
    )
    kinds = sorted(set(tables["lengths"]["hops"]))
    views = [("All" if kind == "all" else kind, {"hops": kind}) for kind in kinds if kind != "all"]
    chart = chart_widget("lengths", "accuracy by input length", height=340, views=[("All", {"hops": "all"}), *views])
    return Section("longer", "Longer inputs", lede, panel(chart), "Longer")


def margins() -> Section:
    """The margin of the best key over the second, with the bounds of the theory."""
    lede = (
        "The margin of the best key over the second at the last token, by input length, for the most positional head "
        "of the number task and the most symbolic head of the letter task."
    )
    note = (
        "Logits are divided by their scale and by the norms of query and key, which makes them cosines, as in the "
        "theory. Dashed lines are its bounds for a head with one frequency, at the head's mean frequency θ and at the "
        "published θ; where such a line ends, the bound is 0. A head with many frequencies may exceed them."
    )
    body = panel(
        chart_widget("margins", "margins and bounds by input length", height=380), tag("p", note, class_="note")
    )
    return Section("margins", "The margin of the best key", lede, body, "Margins")


def frequencies() -> Section:
    """Mean frequency by depth."""
    lede = (
        "The rotary frequencies that each layer relies on after training, from the first layer to the last. Dashed "
        "lines are published for 12 layers with 64 frequencies, as a number (ring) or as a range (bar). A head that "
        "uses all frequencies equally is in the middle."
    )
    chart = chart_widget("frequencies", "mean frequency by layer", height=320)
    return Section("frequencies", "Fast or slow frequencies", lede, panel(chart), "Frequencies")


def charts_of(about: DynamicsSection, tables: dict[str, Columns]) -> dict[str, Spec]:
    """Every chart by its name."""
    hops = sorted({kind for kind in tables["hops"]["hops"] if kind != "all"})
    lengths = sorted(set(tables["lengths"]["length"]))
    return {
        "hops": accuracy_by_hops(hops),
        "paths": paths_in_the_plane(about.layers or 1),
        "layers": by_layer_and_step(),
        "pure": purity_and_accuracy(),
        "lengths": accuracy_by_length(lengths),
        "margins": margins_by_length(lengths),
        "frequencies": frequency_by_depth(),
    }


def figures_of(charts: dict[str, Spec], tables: dict[str, Columns]) -> dict[str, Figure]:
    """The figures to save as files."""
    seed = str(min(tables["paths"]["seed"], default=0))
    figures = {}
    for task in TASKS:
        for name, size in (("hops", (560, 340)), ("paths", (520, 460)), ("layers", (560, 240)), ("pure", (560, 320))):
            words = {"task": task, "seed": seed, "tint": "difference", "rule": RULES[0][0]}
            figures[f"{name}_{task}"] = figure_of(titled(charts[name], TITLES[task]), tables, size, words)
    figures["lengths"] = figure_of(titled(charts["lengths"], "Longer inputs"), tables, (640, 360), {"hops": "all"})
    for name, title in (("margins", "The margin of the best key"), ("frequencies", "Fast or slow frequencies")):
        figures[name] = figure_of(titled(charts[name], title), tables, (640, 380))
    return figures


def _for_each(chart: str, label: str, height: int, *, views: Any = ()) -> Html:
    """One chart for each task, side by side."""
    sides = [
        panel(
            tag("h3", TITLES[task]),
            tag("p", EXPLAINED[task], class_="note") if chart == "hops" else "",
            chart_widget(chart, f"{TITLES[task]}: {label}", height=height, words={"task": task}, views=list(views)),
        )
        for task in TASKS
    ]
    return tag("div", *sides, class_="two")


def _facts(about: DynamicsSection) -> list[tuple[str, str]]:
    facts = [(f"{about.layers} × 1", "layers × heads")] if about.layers else []
    for key, what in (("steps", "steps"), ("batch", "sequences per step"), ("length", "tokens"), ("seeds", "seeds")):
        if number := getattr(about, key):
            facts.append((f"{number:,}", what.removesuffix("s") if number == 1 else what))
    return facts
