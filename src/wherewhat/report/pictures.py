"""The pictures of one run, each whole in itself: for files, for slides, for a notebook."""

import json
import re
from collections.abc import Mapping
from typing import Any

from wherewhat.report.charts import Axis, head_map, plane, profile
from wherewhat.report.findings import Findings
from wherewhat.report.kinds import POSITIONAL
from wherewhat.report.measured import Measured, Score
from wherewhat.report.offsets import axis_labels
from wherewhat.report.page import Columns, Figure, Spec
from wherewhat.report.planes import triangle
from wherewhat.report.shares import Triple, corners, halves, quarters


def pictures(found: Findings) -> dict[str, Figure]:
    """The pictures: where against what, the plane, a map of every score, and where the striking heads look."""
    run = found.run
    across, up = (Axis(score.key, score.name, score.span) for score in first_axes(run))
    selected = found.notable[0].name if found.notable else ""
    spec = with_values(plane_of(run, across, up), selected=selected)
    made = {"plane": Figure(_titled(spec, run, "All heads"), {"heads": run.heads}, 760, 520)}
    if found.triples:
        made["triangle"] = _triangle_figure(found.triples[0], found, selected)
    pattern = head_map("{score}", legend=True)
    shown_as_map = [score for score in run.answered if _worth_a_map(score)]
    made |= {f"map_{_file_name(score.name)}": _map_figure(score, run, pattern) for score in shown_as_map}
    shown = dict.fromkeys(notice.name for notice in found.notable if notice.name in found.by_offset)
    return made | {f"offsets_{_file_name(name)}": _profile_figure(name, run, found.by_offset) for name in shown}


def _worth_a_map(score: Score) -> bool:
    """Whether a score gets a picture of its own: of the many of the positional part, locality and balance."""
    return score.kind != POSITIONAL or score.name.partition(".")[2] in ("locality", "balance")


def _triangle_figure(one: Triple, found: Findings, selected: str) -> Figure:
    run = found.run
    keys = dict(zip(("where", "what", "rest"), (score.key for score in one.scores), strict=True))
    spec = filled(triangle(parts=run.parts, layers=found.layers, heads=len(run.heads["name"])), keys)
    tables = {"heads": run.heads, "lines": quarters(), "halves": halves(), "corners": corners(one)}
    return Figure(_titled(with_values(spec, selected=selected), run, "Where or what"), tables, 700, 560)


def filled(pattern: Spec, words: Mapping[str, str]) -> Any:
    """A pattern with words in their places, as the page's script fills it.

    >>> filled({"field": "value_{x}"}, {"x": "3"})
    {'field': 'value_3'}
    """
    written = json.dumps(pattern)
    for name, word in words.items():
        written = written.replace(f"{{{name}}}", word)
    return json.loads(written)


def _map_figure(score: Score, run: Measured, pattern: Spec) -> Figure:
    spec = with_values(filled(pattern, {"score": score.key}), reach=score.reach, base=score.range[0])
    layers, heads = len(set(run.heads["layer"])), len(set(run.heads["head"]))
    return Figure(_titled(spec, run, score.name), {"heads": run.heads}, 44 * max(heads, 6), 26 * layers)


def _profile_figure(name: str, run: Measured, by_offset: Columns) -> Figure:
    bars = {column: by_offset[column] for column in ("place", "from", "to", "all")} | {"mass": by_offset[name]}
    spec = with_values(profile(axis_labels(by_offset)), bins=len(bars["place"]))
    return Figure(_titled(spec, run, f"Where {name} looks"), {"profile": bars}, 760, 340)


def with_values(spec: Spec, **values: Any) -> dict[str, Any]:
    """Give a chart's parameters other values."""
    known = [{**parameter, "value": values.get(parameter["name"], parameter["value"])} for parameter in spec["params"]]
    return {**spec, "params": known}


def _titled(spec: Spec, run: Measured, title: str) -> dict[str, Any]:
    model = str((run.manifest.get("model") or {}).get("id") or "")
    told = ", ".join(f"{part} {_layers_of(part, run)}" for part in run.parts) if len(run.parts) > 1 else ""
    return {**spec, "title": {"text": title, "subtitle": [line for line in (model, told) if line]}}


def _layers_of(part: str, run: Measured) -> str:
    layers = [layer for layer, its in zip(run.heads["layer"], run.heads["part"], strict=True) if its == part]
    return f"layers {min(layers)} to {max(layers)}"


def _file_name(name: str) -> str:
    """A score's name as part of a file's name, whatever it holds."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def plane_of(run: Measured, x: Axis, y: Axis) -> Spec:
    """All heads of a run between two scores."""
    layers = max(run.heads["layer"]) + 1
    return plane(x, y, parts=run.parts, layers=layers, heads=len(run.heads["name"]))


def first_axes(run: Measured) -> tuple[Score, Score]:
    """What against where, if measured; else the first two scores that tell heads apart, or one alone on both axes."""
    for prefix in ("attended.", "", "input."):
        if both := run.find(f"{prefix}symbol_share", f"{prefix}position_share"):
            return both[0], both[1]
    telling = [score for score in run.answered if len(set(run.heads[f"value_{score.key}"]) - {None}) > 1]
    chosen = (telling + [score for score in run.answered if score not in telling])[:2]
    return chosen[0], chosen[-1]
