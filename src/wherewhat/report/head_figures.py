"""The figures of one run as standalone pictures: for files, for slides, for a notebook."""

import json
import re
from collections.abc import Mapping
from typing import Any

from wherewhat.report.head_charts import ScoreAxis, head_map, plane, profile
from wherewhat.report.head_table import HeadTable, ScoreView
from wherewhat.report.heads_data import HeadsPageData
from wherewhat.report.kinds import POSITIONAL
from wherewhat.report.offsets import axis_labels
from wherewhat.report.page import Columns, Figure, Spec
from wherewhat.report.shares import ShareTriple, corners, halves, quarters
from wherewhat.report.where_or_what_charts import triangle


def figures_of_heads(data: HeadsPageData) -> dict[str, Figure]:
    """The figures: the plane, the triangle of shares, a map of every score, and where the notable heads attend."""
    run = data.run
    across, up = (ScoreAxis(score.key, score.name, score.span) for score in first_axes(run))
    selected = data.notable[0].name if data.notable else ""
    spec = with_values(plane_of(run, across, up), selected=selected)
    made = {"plane": Figure(_titled(spec, run, "All heads"), {"heads": run.heads}, 760, 520)}
    if data.triples:
        made["triangle"] = _triangle_figure(data.triples[0], data, selected)
    pattern = head_map("{score}", legend=True)
    shown_as_map = [score for score in run.answered if _worth_a_map(score)]
    made |= {f"map_{_file_name(score.name)}": _map_figure(score, run, pattern) for score in shown_as_map}
    shown = dict.fromkeys(head.name for head in data.notable if head.name in data.by_offset)
    return made | {f"offsets_{_file_name(name)}": _profile_figure(name, run, data.by_offset) for name in shown}


def _worth_a_map(score: ScoreView) -> bool:
    """Whether a score gets a figure of its own; of those of the positional part, only locality and balance do."""
    return score.kind != POSITIONAL or score.name.partition(".")[2] in ("locality", "balance")


def _triangle_figure(triple: ShareTriple, data: HeadsPageData, selected: str) -> Figure:
    run = data.run
    keys = dict(zip(("where", "what", "rest"), (score.key for score in triple.scores), strict=True))
    spec = filled(triangle(parts=run.parts, layers=data.layers, heads=len(run.heads["name"])), keys)
    tables = {"heads": run.heads, "lines": quarters(), "halves": halves(), "corners": corners(triple)}
    return Figure(_titled(with_values(spec, selected=selected), run, "Where or what"), tables, 700, 560)


def filled(pattern: Spec, words: Mapping[str, str]) -> Any:
    """A chart pattern with its placeholders filled in, as the page's script does it.

    >>> filled({"field": "value_{x}"}, {"x": "3"})
    {'field': 'value_3'}
    """
    written = json.dumps(pattern)
    for name, word in words.items():
        written = written.replace(f"{{{name}}}", json.dumps(word)[1:-1])
    return json.loads(written)


def _map_figure(score: ScoreView, run: HeadTable, pattern: Spec) -> Figure:
    spec = with_values(filled(pattern, {"score": score.key}), reach=score.reach, base=score.range[0])
    layers, heads = len(set(run.heads["layer"])), len(set(run.heads["head"]))
    return Figure(_titled(spec, run, score.name), {"heads": run.heads}, 44 * max(heads, 6), 26 * layers)


def _profile_figure(name: str, run: HeadTable, by_offset: Columns) -> Figure:
    bars = {column: by_offset[column] for column in ("place", "from", "to", "all")} | {"mass": by_offset[name]}
    spec = with_values(profile(axis_labels(by_offset)), bins=len(bars["place"]))
    return Figure(_titled(spec, run, f"Where {name} attends"), {"profile": bars}, 760, 340)


def with_values(spec: Spec, **values: Any) -> dict[str, Any]:
    """A chart with other values for its parameters."""
    known = [{**parameter, "value": values.get(parameter["name"], parameter["value"])} for parameter in spec["params"]]
    return {**spec, "params": known}


def _titled(spec: Spec, run: HeadTable, title: str) -> dict[str, Any]:
    model = run.manifest.model.id
    layers: dict[str, list[int]] = {}
    for layer, part in zip(run.heads["layer"], run.heads["part"], strict=True):
        layers.setdefault(part, []).append(layer)
    parts = ", ".join(f"{part} layers {min(its)} to {max(its)}" for part, its in layers.items())
    subtitle = [line for line in (model, parts if len(layers) > 1 else "") if line]
    return {**spec, "title": {"text": title, "subtitle": subtitle}}


def _file_name(name: str) -> str:
    """A score's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def plane_of(run: HeadTable, x: ScoreAxis, y: ScoreAxis) -> Spec:
    """All heads of a run by two scores."""
    layers = max(run.heads["layer"]) + 1
    return plane(x, y, parts=run.parts, layers=layers, heads=len(run.heads["name"]))


def first_axes(run: HeadTable) -> tuple[ScoreView, ScoreView]:
    """Content and position, if measured; else the first two scores that differ between heads, or one on both axes."""
    for prefix in ("attended.", "", "input."):
        if both := run.find(f"{prefix}symbol_share", f"{prefix}position_share"):
            return both[0], both[1]
    telling = [score for score in run.answered if len(set(run.heads[f"value_{score.key}"]) - {None}) > 1]
    chosen = (telling + [score for score in run.answered if score not in telling])[:2]
    return chosen[0], chosen[-1]
