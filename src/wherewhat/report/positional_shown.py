"""What the page needs to draw the positional part: its charts, tables and maps, and the same as pictures."""

from collections.abc import Mapping
from typing import Any

from wherewhat.report.drawn import columns, figure_of, titled
from wherewhat.report.findings import Findings
from wherewhat.report.kinds import POSITIONAL
from wherewhat.report.page import Columns, Figure, Spec
from wherewhat.report.palette import DARK, LIGHT
from wherewhat.report.pictures import with_values
from wherewhat.report.positional import SHOWN
from wherewhat.report.positional_charts import STROKES, layer_lines, maps_picture, offset_lines, picture_tables
from wherewhat.report.positional_maps import LEVELS
from wherewhat.report.positional_tables import Positional, title_of

TITLE = "Locality and balance by place alone"
CHANCES = {"locality": "even", "balance": "random logits"}  # what the level of heads that know nothing is called


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
    rows = [dict(zip(found.by_layer, values, strict=True)) for values in zip(*found.by_layer.values(), strict=True)]
    kept = [row for row in rows if row["measure"] in SHOWN]
    chances = {(row["measure"], row["over"]): row["chance"] for row in reversed(kept) if row["chance"] is not None}
    levels = [
        {"measure": measure, "over": over, "value": level, "name": CHANCES[measure]}
        for (measure, over), level in chances.items()
    ]
    return {
        "positional_layers": columns(kept, list(found.by_layer)),
        "positional_chance": columns(levels, ("measure", "over", "value", "name")),
    }


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
    drawn_ = {"cells": maps.cells, "offsets": maps.offsets, "profiles": maps.profiles, "evens": maps.evens}
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
    for measure in SHOWN:
        for number, over in enumerate(found.views_by_layer(measure).get("heads", ()), 1):
            title = f"{measure.capitalize()} by layer, mean of heads"
            spec = titled(charts["positional_layers"], title, _strokes(found, measure, over))
            words = {"measure": measure, "series": "heads", "over": over}
            name = f"positional_layers_{measure}{f'_{number}' if number > 1 else ''}"
            made[name] = figure_of(spec, tables, (620, 300), words)
    return made | _maps_figure(found)


def _strokes(found: Positional, measure: str, over: str) -> str:
    """Which line is which source, for a picture that stands alone."""
    names = ("source", "measure", "series", "over")
    rows = zip(*(found.by_layer[name] for name in names), strict=True)
    there = dict.fromkeys(source for source, *which in rows if which == [measure, "heads", over])
    return f"{', '.join(f'{STROKES[name]} {title_of(name).lower()}' for name in there)}; {over}"


def _maps_figure(found: Positional) -> dict[str, Figure]:
    if not found.maps.cells:
        return {}
    tables = picture_tables(found.maps)
    wide, high = (max(tables["positional_cells"][name]) for name in ("x2", "y2"))
    title = "The positional part of every layer, mean of heads"
    spec = titled(with_values(maps_picture(), reach=found.maps.reach), title)
    scale = min(6.0, 1500 / wide)
    return {"positional_maps": Figure(spec, tables, round(wide * scale), round(high * scale))}
