"""The table of what was published, what was measured here, and what to think of it."""

from collections.abc import Mapping
from typing import Any

from wherewhat.report.measured import Manifest
from wherewhat.report.page import Section
from wherewhat.report.tags import Html, prose, tag

HEADINGS = ("claim", "published", "ours", "verdict")


def the_claims(manifest: Manifest) -> Section:
    """Every claim of a reproduction: published, ours, verdict."""
    claims = manifest.get("claims") or ()
    head = tag("div", *(tag("p", name) for name in HEADINGS), aria_hidden=True)
    lede = "What was published, what was measured here, and a verdict that is worked out from the numbers."
    body = tag("div", head, *(_line(claim) for claim in claims), class_="claims")
    return Section("claims", "Published and ours", lede, body, short="Claims")


def _line(claim: Mapping[str, Any]) -> Html:
    verdict = str(claim.get("verdict") or "unknown")
    said = [
        tag("p", tag("span", f"{name}: ", class_="said"), prose(str(claim.get(name) or "unknown")), class_=name)
        for name in ("published", "ours")
    ]
    why = tag("p", prose(str(claim["why"])), class_="why") if claim.get("why") else ""
    return tag(
        "div",
        tag("p", tag("b", prose(str(claim.get("claim") or "")))),
        *said,
        tag("p", verdict, class_="verdict", data_verdict=verdict),
        why,
    )
