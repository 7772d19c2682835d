"""The table of what was published, what was measured here, and the verdict."""

from collections.abc import Sequence

from wherewhat.report.page import Section
from wherewhat.report.tags import Html, prose, tag
from wherewhat.tables.manifest.sections import ClaimSection

HEADINGS = ("claim", "published", "ours", "verdict")


def claims_section(claims: Sequence[ClaimSection]) -> Section:
    """Every claim of a reproduction: published, ours, verdict."""
    head = tag("div", *(tag("p", name) for name in HEADINGS), aria_hidden=True)
    lede = "What was published, what was measured here, and a verdict computed from the numbers."
    body = tag("div", head, *(_line(claim) for claim in claims), class_="claims")
    return Section("claims", "Published and ours", lede, body, short="Claims")


def _line(claim: ClaimSection) -> Html:
    sides = {"published": claim.published, "ours": claim.ours}
    return tag(
        "div",
        tag("p", tag("b", prose(claim.claim))),
        *(
            tag("p", tag("span", f"{name}: ", class_="said"), prose(text or "unknown"), class_=name)
            for name, text in sides.items()
        ),
        tag("p", claim.verdict, class_="verdict", data_verdict=claim.verdict),
        tag("p", prose(claim.why), class_="why") if claim.why else "",
    )
