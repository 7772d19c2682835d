"""Turn a page into one HTML text that loads nothing: style, scripts, charts and numbers all inside.

A content policy names every script and style by its hash, so nothing else can run even if it got in.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

import vl_convert

from wherewhat.formatting import rounded
from wherewhat.report.core.figures import whole
from wherewhat.report.core.html import Html, join, prose, sound, tag, text
from wherewhat.report.core.page import Page, Section
from wherewhat.report.core.palette import DARK, LIGHT, variables
from wherewhat.report.core.theme import config
from wherewhat.tables.cache import keep, recall

SCRIPTS = (
    *("charts.js", "state.js", "address.js", "tips.js", "plane.js", "triangle.js", "summary.js", "bounds.js"),
    *("layers.js", "spectrum.js", "frequencies.js", "hidden.js", "maps.js", "profile.js", "search.js", "csv.js"),
    *("table.js", "sortable.js", "drawn.js", "positional.js"),
)
START = "start.js"  # wakes everything, so it comes last
DANGEROUS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
ESCAPED = str.maketrans(DANGEROUS)
STYLES = ("page.css", "probe.css")
OWN_ASSETS = ("explained",)  # kinds of widgets with a script and a style that only their pages have
EMBED = "window.vegaEmbed = vegaEmbed;"  # what the drawing library's bundle ends with


def render(page: Page) -> str:
    """Write the whole page as one text. The same page gives the same text, byte for byte."""
    own = [kind for kind in OWN_ASSETS if kind in page.widgets]
    style, library, script = _style(own), _library(), _script(own)
    return Template(_asset("page.html")).substitute(
        policy=text(_policy([library, script], [style])),
        title=text(f"{page.title} · wherewhat"),
        style=style,
        header=_header(page),
        navigation=_navigation(page),
        sections=join(*(_section(section) for section in page.sections)),
        data=json_in_html({"tables": page.tables, "charts": page.charts, "about": page.about, "config": config()}),
        library=library,
        script=script,
    )


def inline(page: Page) -> str:
    """A small piece of HTML for a notebook: the first picture of the page, with no script in it."""
    name = "triangle" if "triangle" in page.figures else next(iter(page.figures), None)
    if name is None:
        return tag("p", tag("b", page.title), f": {page.lede}")
    drawn = vl_convert.vegalite_to_svg(whole(page.figures[name]))
    source = "data:image/svg+xml;base64," + base64.b64encode(drawn.encode()).decode()
    facts = ", ".join(f"{number} {what}" for number, what in page.facts)
    caption = tag("figcaption", tag("b", page.title), f": {facts}")
    return tag("figure", tag("img", src=source, alt=f"The {name.replace('_', ' ')} of {page.title}"), caption)


def json_in_html(value: Any) -> str:
    """Write JSON that cannot end the script element it stands in.

    >>> json_in_html({"token": "</script>"})
    '{"token":"\\\\u003c/script\\\\u003e"}'
    """
    written = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return sound(written.translate(ESCAPED))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else rounded(value)


def _header(page: Page) -> Html:
    facts = [tag("div", tag("dt", what), tag("dd", number)) for number, what in page.facts]
    return tag(
        "header",
        tag("p", page.kind, class_="kind"),
        tag("h1", page.title),
        tag("p", page.lede, class_="lede"),
        tag("dl", *facts, class_="facts"),
        tag("ul", *(tag("li", finding) for finding in page.findings), class_="findings") if page.findings else "",
    )


def _navigation(page: Page) -> Html:
    links = [tag("a", section.short, href=f"#{section.name}") for section in page.sections if section.short]
    return tag(
        "nav", tag("div", *links, class_="links"), tag("div", data_widget="chip"), aria_label="parts of this page"
    )


def _section(section: Section) -> Html:
    heading = tag("h2", section.title, id=f"{section.name}-title")
    lede = tag("p", prose(section.lede), class_="lede")
    return tag("section", heading, lede, section.body, id=section.name, aria_labelledby=f"{section.name}-title")


def _style(own: Sequence[str]) -> str:
    dark = f"@media screen and (prefers-color-scheme: dark){{:root{{{variables(DARK)}}}}}"
    names = (*STYLES, *(f"{name}.css" for name in own))
    return f":root{{{variables(LIGHT)}}}{dark}\n{''.join(map(_asset, names))}"


def _script(own: Sequence[str]) -> str:
    names = (*SCRIPTS, *(f"{name}.js" for name in own), START)
    return '(() => {\n"use strict";\n' + "\n".join(map(_asset, names)) + "})();\n"


@cache
def _library() -> str:
    """The drawing library, as the converter carries it. Pure text, the same in every page.

    Bundling it takes longer than drawing a page, so it is cached for each version of the converter.
    """
    key = hashlib.sha256(f"{version('vl-convert-python')} {EMBED}".encode()).hexdigest()
    bundle = recall("library", key)
    if not isinstance(bundle, str):
        bundle = vl_convert.javascript_bundle(EMBED)
        keep("library", key, bundle)
    return bundle.replace("</script", "<\\/script")


@cache
def _asset(name: str) -> str:
    return files("wherewhat.report.core").joinpath("assets", name).read_text(encoding="utf-8")


def _policy(scripts: list[str], styles: list[str]) -> str:
    return (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: list[str]) -> str:
    digests = (hashlib.sha256(content.encode()).digest() for content in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
