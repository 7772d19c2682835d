"""What draws pages, taking manifests as dicts, in which a test can change a field."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from wherewhat.report.blocks import claims
from wherewhat.report.core.page import Page, Section
from wherewhat.tables.manifest.decode import decode
from wherewhat.tables.manifest.io import manifest_of
from wherewhat.tables.manifest.sections import ClaimSection

Drawn = TypeVar("Drawn")


def of_dicts(kind: str, draw: Callable[..., Drawn] | str, study: str = "") -> Callable[..., Drawn]:
    """The same function, or one named as "module:function", with every mapping read as a manifest of this kind."""
    more = {"reproduction": study} if study else {}

    def from_dicts(*given: Any, **named: Any) -> Drawn:
        typed = (manifest_of(kind, {**more, **each}) if isinstance(each, Mapping) else each for each in given)
        return called(draw)(*typed, **named)

    return from_dicts


def called(draw: Callable[..., Drawn] | str) -> Callable[..., Drawn]:
    """A function, or the one with this name, imported now."""
    if not isinstance(draw, str):
        return draw
    module, _, function = draw.partition(":")
    named: Callable[..., Drawn] = getattr(import_module(f"wherewhat.{module}"), function)
    return named


def page_of(study: str) -> Callable[..., Page]:
    """What draws the page of a study."""
    return of_dicts("reproduce", f"studies.{study.replace('-', '_')}.page:page", study)


page_of_heads = of_dicts("heads", "report.pages.heads.page:page_of_heads")
read_head_table = of_dicts("heads", "report.pages.heads.head_table:read_head_table")
findings = of_dicts("heads", "report.pages.heads.findings:findings")
page_of_comparison = of_dicts("compare", "report.pages.compare.page:page_of_comparison")
page_of_edit = of_dicts("edit", "report.pages.edit.page:page_of_edit")
RelationTables = of_dicts("probe", "report.pages.probes.relation_tables:RelationTables")
page_of_probe = of_dicts("probe", "report.pages.probes.probes:page_of_probe")
page_of_attribution = of_dicts("attribute", "report.pages.attribution.page:page_of_attribution")
notebook_html = of_dicts("attribute", "report.pages.attribution.notebook:notebook_html")
page_of_reproduction = of_dicts("reproduce", "studies.pages:page_of_study")
page_of_canonical = page_of("canonical")
page_of_control = page_of("control")
page_of_dynamics = page_of("dynamics")
page_of_locality = page_of("locality")
page_of_syntax = page_of("syntax")
page_of_word_swap = page_of("word-swap")


def claims_section(rows: list[dict[str, str]]) -> Section:
    """The section of claims that are written as dicts."""
    return claims.claims_section([decode(ClaimSection, row) for row in rows])
