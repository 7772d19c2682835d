"""The look that all charts share, in the page's own colours or in fixed ones for a picture."""

from collections.abc import Mapping
from typing import Any

FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif"


def config(colours: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The look all charts share. Colours are the page's own variables, or fixed ones for a picture."""
    colours = colours or {name: f"var(--{name})" for name in ("ink", "muted", "line")}
    ink, muted, line = colours["ink"], colours["muted"], colours["line"]
    return {
        "aria": False,  # the element around a chart carries its name and its keys
        "background": colours.get("card", "transparent"),
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": muted,
            "labelFontSize": 12,
            "titleColor": ink,
            "titleFontSize": 13,
            "titleFontWeight": 600,
            "titlePadding": 10,
            "titleLimit": 260,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
            "tickSize": 4,
            "labelPadding": 5,
        },
        "legend": {
            "labelColor": muted,
            "labelFontSize": 12,
            "titleColor": ink,
            "titleFontSize": 12,
            "titleFontWeight": 600,
            "gradientStrokeWidth": 0,
            "labelLimit": 110,
            "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 6}},  # fits a phone
        },
        "title": {"color": ink, "fontSize": 16, "anchor": "start", "offset": 14, "subtitleColor": muted},
    }
