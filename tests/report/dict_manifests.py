"""What draws pages, taking manifests as dicts, in which a test can change a field."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from wherewhat import report
from wherewhat.report import (
    canonical,
    claims,
    compare,
    control,
    dynamics,
    dynamics_tables,
    edit,
    head_table,
    heads_data,
    locality,
    locality_data,
    probe_dependencies_tables,
    probes,
    reproductions,
    syntax,
    word_swap,
    word_swap_data,
)
from wherewhat.report import findings as findings_
from wherewhat.report.page import Section
from wherewhat.tables.manifest.decode import decode
from wherewhat.tables.manifest.io import manifest_of
from wherewhat.tables.manifest.sections import ClaimSection

Drawn = TypeVar("Drawn")


def of_dicts(kind: str, draw: Callable[..., Drawn], study: str = "") -> Callable[..., Drawn]:
    """The same function, with every mapping among its arguments read as a manifest of this kind."""
    more = {"reproduction": study} if study else {}

    def from_dicts(*given: Any, **named: Any) -> Drawn:
        typed = (manifest_of(kind, {**more, **each}) if isinstance(each, Mapping) else each for each in given)
        return draw(*typed, **named)

    return from_dicts


page_of_heads = of_dicts("heads", report.page_of_heads)
read_head_table = of_dicts("heads", head_table.read_head_table)
read_heads_page_data = of_dicts("heads", heads_data.read_heads_page_data)
findings = of_dicts("heads", findings_.findings)
page_of_comparison = of_dicts("compare", compare.page_of_comparison)
page_of_edit = of_dicts("edit", edit.page_of_edit)
page_of_probe = of_dicts("probe", probes.page_of_probe)
RelationTables = of_dicts("probe", probe_dependencies_tables.RelationTables)
page_of_reproduction = of_dicts("reproduce", reproductions.page_of_reproduction)
page_of_canonical = of_dicts("reproduce", canonical.page_of_canonical, "canonical")
page_of_control = of_dicts("reproduce", control.page_of_control, "control")
page_of_dynamics = of_dicts("reproduce", dynamics.page_of_dynamics, "dynamics")
dynamics_tables_of = of_dicts("reproduce", dynamics_tables.tables_of, "dynamics")
page_of_locality = of_dicts("reproduce", locality.page_of_locality, "locality")
LocalityPageData = of_dicts("reproduce", locality_data.LocalityPageData, "locality")
page_of_syntax = of_dicts("reproduce", syntax.page_of_syntax, "syntax")
page_of_word_swap = of_dicts("reproduce", word_swap.page_of_word_swap, "word-swap")
WordSwapPageData = of_dicts("reproduce", word_swap_data.WordSwapPageData, "word-swap")


def claims_section(rows: list[dict[str, str]]) -> Section:
    """The section of claims that are written as dicts."""
    return claims.claims_section([decode(ClaimSection, row) for row in rows])
