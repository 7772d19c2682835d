"""What the page needs to draw the positional part: charts, tables and widget data, and the figures."""

from collections.abc import Mapping
from typing import Any

from wherewhat.report.head_figures import with_values
from wherewhat.report.heads_data import HeadsPageData
from wherewhat.report.kinds import POSITIONAL
from wherewhat.report.page import Columns, Figure, Spec
from wherewhat.report.palette import DARK, LIGHT
from wherewhat.report.panels import columns, figure_of, titled
from wherewhat.report.positional import SHOWN
from wherewhat.report.positional_charts import STROKES, layer_lines, maps_picture, offset_lines, picture_tables
from wherewhat.report.positional_maps import LEVELS
from wherewhat.report.positional_tables import PositionalResults, title_of

TITLE = "Locality and balance by position alone"
CHANCES = {"locality": "uniform", "balance": "random logits"}  # the label of each chance level


def positional_chart_specs(data: HeadsPageData) -> dict[str, Spec]:
    """The chart patterns of this section, if there is one."""
    results = data.positional
    if results is None:
        return {}
    sources = list({**dict.fromkeys(results.maps.sources), **dict.fromkeys(source.base for source in results.sources)})
    return {
        "positional_offsets": offset_lines(sources),
        "positional_layers": layer_lines(data.layers, [source.base for source in results.sources]),
    }


def positional_chart_tables(data: HeadsPageData) -> dict[str, Columns]:
    """The numbers that these charts draw."""
    results = data.positional
    if results is None:
        return {}
    rows = [dict(zip(results.by_layer, values, strict=True)) for values in zip(*results.by_layer.values(), strict=True)]
    kept = [row for row in rows if row["measure"] in SHOWN]
    chances = {(row["measure"], row["over"]): row["chance"] for row in reversed(kept) if row["chance"] is not None}
    levels = [
        {"measure": measure, "over": over, "value": level, "name": CHANCES[measure]}
        for (measure, over), level in chances.items()
    ]
    return {
        "positional_layers": columns(kept, list(results.by_layer)),
        "positional_chance": columns(levels, ("measure", "over", "value", "name")),
    }


def positional_widget_data(data: HeadsPageData) -> dict[str, Any]:
    """What the widgets of this section need: sources with the keys of their scores, maps as strings, and profiles."""
    results = data.positional
    if results is None:
        return {}
    maps = results.maps
    views = [
        {
            "source": source.source,
            "title": source.title,
            "contextual": source.contextual,
            "keys": {measure: score.key for measure, score in source.scores.items()},
        }
        for source in results.first_parts()
    ]
    ramp = {"light": list(LIGHT.chance), "dark": list(DARK.chance)}
    plain = {"sizes": maps.sizes, "reach": maps.reach, "levels": LEVELS, "ramp": ramp}
    titles = {name: title_of(name) for name in maps.sources}
    scores = [score.key for score in data.run.scores if score.kind == POSITIONAL]
    drawn = {"cells": maps.cells, "offsets": maps.offsets, "profiles": maps.profiles, "evens": maps.evens}
    return {"positional": {**plain, **drawn, "views": views, "scores": scores, "titles": titles}}


def positional_figures(data: HeadsPageData, charts: Mapping[str, Spec]) -> dict[str, Figure]:
    """The figures of this section: the plane of each source, lines by layer, and the maps of all layers."""
    results = data.positional
    if results is None:
        return {}
    made: dict[str, Figure] = {}
    for source in (source for source in results.first_parts(*SHOWN) if not source.contextual):
        x, y = (source.scores[name] for name in SHOWN)
        words = {"x": x.key, "y": y.key, "x title": x.name, "y title": y.name}
        spec = titled(
            with_values(charts["plane"], x_span=list(x.span), y_span=list(y.span)),
            TITLE,
            f"{source.title}, n = {source.n}",
        )
        made[f"positional_plane_{source.source}"] = figure_of(spec, {"heads": data.run.heads}, (700, 480), words)
    tables = positional_chart_tables(data)
    for measure in SHOWN:
        for number, over in enumerate(results.slots_by_series(measure).get("heads", ()), 1):
            title = f"{measure.capitalize()} by layer, mean of heads"
            spec = titled(charts["positional_layers"], title, _strokes(results, measure, over))
            words = {"measure": measure, "series": "heads", "over": over}
            name = f"positional_layers_{measure}{f'_{number}' if number > 1 else ''}"
            made[name] = figure_of(spec, tables, (620, 300), words)
    return made | _maps_figure(results)


def _strokes(results: PositionalResults, measure: str, over: str) -> str:
    """Which line is which source, as the subtitle of a figure."""
    names = ("source", "measure", "series", "over")
    rows = zip(*(results.by_layer[name] for name in names), strict=True)
    there = dict.fromkeys(source for source, *which in rows if which == [measure, "heads", over])
    return f"{', '.join(f'{STROKES[name]} {title_of(name).lower()}' for name in there)}; {over}"


def _maps_figure(results: PositionalResults) -> dict[str, Figure]:
    if not results.maps.cells:
        return {}
    tables = picture_tables(results.maps)
    wide, high = (max(tables["positional_cells"][name]) for name in ("x2", "y2"))
    title = "The positional part of every layer, mean of heads"
    spec = titled(with_values(maps_picture(), reach=results.maps.reach), title)
    scale = min(6.0, 1500 / wide)
    return {"positional_maps": Figure(spec, tables, round(wide * scale), round(high * scale))}
