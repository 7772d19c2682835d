"""The pictures of one run, each whole in itself: for files, for slides, for a notebook."""

import re
from collections.abc import Sequence
from typing import Any

from wherewhat.report.charts import Axis, head_map, plane, profile
from wherewhat.report.measured import Measured, Score
from wherewhat.report.offsets import axis_labels
from wherewhat.report.page import Columns, Figure, Spec
from wherewhat.report.striking import Notice


def pictures(run: Measured, by_offset: Columns, notable: Sequence[Notice]) -> dict[str, Figure]:
    """The pictures: the plane, a map of every score, and where the striking heads look."""
    across, up = (Axis(score.key, score.name, score.span) for score in first_axes(run))
    selected = notable[0].name if notable else ""
    spec = _set(plane_of(run, across, up), selected=selected)
    made = {"plane": Figure(_titled(spec, run, "All heads"), {"heads": run.heads}, 760, 520)}
    made |= {f"map_{_file_name(score.name)}": _map_figure(score, run) for score in run.answered}
    shown = [notice.name for notice in notable if notice.name in by_offset]
    return made | {f"offsets_{name}": _profile_figure(name, run, by_offset) for name in shown}


def _map_figure(score: Score, run: Measured) -> Figure:
    spec = _set(head_map(score.key, legend=True), reach=score.reach, base=score.range[0])
    layers, heads = len(set(run.heads["layer"])), len(set(run.heads["head"]))
    return Figure(_titled(spec, run, score.name), {"heads": run.heads}, 44 * max(heads, 6), 26 * layers)


def _profile_figure(name: str, run: Measured, by_offset: Columns) -> Figure:
    bars = {column: by_offset[column] for column in ("place", "from", "to", "all")} | {"mass": by_offset[name]}
    spec = _set(profile(axis_labels(by_offset)), bins=len(bars["place"]))
    return Figure(_titled(spec, run, f"Where {name} looks"), {"profile": bars}, 760, 340)


def _set(spec: Spec, **values: Any) -> dict[str, Any]:
    """Give a chart's parameters other values."""
    known = [{**parameter, "value": values.get(parameter["name"], parameter["value"])} for parameter in spec["params"]]
    return {**spec, "params": known}


def _titled(spec: Spec, run: Measured, title: str) -> dict[str, Any]:
    model = str((run.manifest.get("model") or {}).get("id") or "")
    told = ", ".join(f"{part} {_layers_of(part, run)}" for part in run.parts) if len(run.parts) > 1 else ""
    return {**spec, "title": {"text": title, "subtitle": [line for line in (model, told) if line]}}


def _layers_of(part: str, run: Measured) -> str:
    layers = [layer for layer, its in zip(run.heads["layer"], run.heads["part"], strict=True) if its == part]
    return f"L{min(layers)} to L{max(layers)}"


def _file_name(name: str) -> str:
    """A score's name as part of a file's name, whatever it holds."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def plane_of(run: Measured, x: Axis, y: Axis) -> Spec:
    """All heads of a run between two scores."""
    layers = max(run.heads["layer"]) + 1
    return plane(x, y, parts=run.parts, layers=layers, heads=len(run.heads["name"]))


def first_axes(run: Measured) -> tuple[Score, Score]:
    """The first two scores that tell heads apart; one alone stands on both axes."""
    telling = [score for score in run.answered if len(set(run.heads[f"value_{score.key}"]) - {None}) > 1]
    chosen = (telling + [score for score in run.answered if score not in telling])[:2]
    return chosen[0], chosen[-1]
