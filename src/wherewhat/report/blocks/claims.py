"""The claims of a page: what was published, what was measured here, and the verdict."""

from collections.abc import Sequence

from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Section
from wherewhat.tables.manifest.sections import ClaimSection

HEADINGS = ("claim", "published", "ours", "verdict")


def claims_section(claims: Sequence[ClaimSection], judged_by: str = "", *, published: bool = True) -> Section:
    """Every claim: published, ours, verdict; or only ours, if nothing was published. `judged_by` names the rule."""
    rule = f" {judged_by}" if judged_by else ""
    if not published:
        lede = f"Every verdict follows from the numbers.{rule}"
        body = tag("div", *(_line(claim, ours=prose(claim.ours)) for claim in claims), class_="claims seen")
        return Section("claims", "What the numbers say", lede, body, "Claims")
    lede = f"What was published, what was measured here, and a verdict computed from the numbers.{rule}"
    head = tag("div", *(tag("p", name) for name in HEADINGS), aria_hidden=True)
    sides = [{name: _side(name, getattr(claim, name)) for name in ("published", "ours")} for claim in claims]
    lines = [_line(claim, **both) for claim, both in zip(claims, sides, strict=True)]
    return Section("claims", "Published and ours", lede, tag("div", head, *lines, class_="claims"), "Claims")


def _line(claim: ClaimSection, **sides: Html) -> Html:
    return tag(
        "div",
        tag("p", tag("b", prose(claim.claim))),
        *(tag("p", words, class_=name) for name, words in sides.items()),
        tag("p", claim.verdict, class_="verdict", data_verdict=claim.verdict),
        tag("p", prose(claim.why), class_="why") if claim.why else None,
    )


def _side(name: str, words: str) -> Html:
    """One side of a claim, with its name where a narrow screen has no headings."""
    return join(tag("span", f"{name}: ", class_="said"), prose(words or "unknown"))
