"""What the page needs to draw the positional part: its charts, tables and maps, and the same as pictures."""

from collections.abc import Mapping
from typing import Any

from wherewhat.report.drawn import columns, figure_of, titled
from wherewhat.report.findings import Findings
from wherewhat.report.kinds import POSITIONAL
from wherewhat.report.page import Columns, Figure, Spec
from wherewhat.report.palette import DARK, LIGHT
from wherewhat.report.pictures import with_values
from wherewhat.report.positional import NAMES, SHOWN, nearness
from wherewhat.report.positional_charts import STROKES, layer_lines, maps_picture, offset_lines, picture_tables
from wherewhat.report.positional_maps import LEVELS
from wherewhat.report.positional_tables import Positional, title_of

TITLE = "Locality and balance by place alone"


def place_charts(findings: Findings) -> dict[str, Spec]:
    """The patterns of this section's charts, if there is one."""
    found = findings.positional
    if found is None:
        return {}
    sources = list({**dict.fromkeys(found.maps.sources), **dict.fromkeys(one.base for one in found.readings)})
    return {
        "positional_offsets": offset_lines(sources),
        "positional_layers": layer_lines(findings.layers, [one.base for one in found.readings]),
    }


def place_tables(findings: Findings) -> dict[str, Columns]:
    """The numbers that they draw."""
    found = findings.positional
    if found is None:
        return {}
    shown = {nearness(found), "balance"}
    rows = [dict(zip(found.by_layer, values, strict=True)) for values in zip(*found.by_layer.values(), strict=True)]
    kept = columns((row for row in rows if row["measure"] in shown), list(found.by_layer))
    return {"positional_layers": kept, "positional_chance": columns(_chances(found), ("measure", "value", "name"))}


def _chances(found: Positional) -> list[dict[str, Any]]:
    names = {
        ("uniform", "locality"): "even",
        ("uniform", "excess"): "even",
        ("random 1", "balance"): "random logits",
    }
    return [
        {"measure": measure, "value": level, "name": words}
        for (name, measure), words in names.items()
        if (level := found.baselines.get(name, {}).get(measure)) is not None
    ]


def place_about(findings: Findings) -> dict[str, Any]:
    """What this section's widgets must know: sources with the keys of their scores, maps as characters, profiles."""
    found = findings.positional
    if found is None:
        return {}
    maps = found.maps
    views = [
        {
            "source": one.source,
            "title": one.title,
            "contextual": one.contextual,
            "keys": {measure: score.key for measure, score in one.scores.items()},
        }
        for one in found.views()
    ]
    ramp = {"light": list(LIGHT.chance), "dark": list(DARK.chance)}
    plain = {"sizes": maps.sizes, "reach": maps.reach, "levels": LEVELS, "ramp": ramp}
    titles = {name: title_of(name) for name in maps.sources}
    scores = [score.key for score in findings.run.scores if score.kind == POSITIONAL]
    drawn_ = {"cells": maps.cells, "offsets": maps.offsets, "profiles": maps.profiles}
    return {"positional": {**plain, **drawn_, "views": views, "scores": scores, "titles": titles}}


def place_pictures(findings: Findings, charts: Mapping[str, Spec]) -> dict[str, Figure]:
    """The same as pictures: the plane of each source, lines by layer, and the maps of all layers."""
    found = findings.positional
    if found is None:
        return {}
    made: dict[str, Figure] = {}
    for one in (one for one in found.views(*SHOWN) if not one.contextual):
        x, y = (one.scores[name] for name in SHOWN)
        words = {"x": x.key, "y": y.key, "x title": x.name, "y title": y.name}
        spec = titled(
            with_values(charts["plane"], x_span=list(x.span), y_span=list(y.span)), TITLE, f"{one.title}, n = {one.n}"
        )
        made[f"positional_plane_{one.source}"] = figure_of(spec, {"heads": findings.run.heads}, (700, 480), words)
    tables = place_tables(findings)
    for measure in (nearness(found), "balance"):
        spec = titled(
            charts["positional_layers"], f"{NAMES[measure]} by layer, mean of heads", _strokes(found, measure)
        )
        words = {"measure": measure, "series": "heads"}
        made[f"positional_layers_{measure}"] = figure_of(spec, tables, (620, 300), words)
    return made | _maps_figure(found)


def _strokes(found: Positional, measure: str) -> str:
    """Which line is which source, for a picture that stands alone."""
    sizes = {one.base: one.n for one in found.readings if not one.contextual and measure in one.scores}
    lines = ", ".join(f"{STROKES[name]} {title_of(name).lower()}" for name in sizes)
    return f"{lines}; n = {', '.join(dict.fromkeys(map(str, sizes.values())))}"


def _maps_figure(found: Positional) -> dict[str, Figure]:
    if not found.maps.cells:
        return {}
    tables = picture_tables(found.maps)
    wide, high = (max(tables["positional_cells"][name]) for name in ("x2", "y2"))
    title = "The positional part of every layer, mean of heads"
    spec = titled(with_values(maps_picture(), reach=found.maps.reach), title)
    scale = min(6.0, 1500 / wide)
    return {"positional_maps": Figure(spec, tables, round(wide * scale), round(high * scale))}
