"""Tables of numbers: sorted by any column, searched where they are long, and saved as CSV by the reader."""

from collections.abc import Iterable, Sequence

from wherewhat.report.core.html import Html, tag

Cells = Sequence[object]


def table(
    headings: Sequence[object],
    rows: Iterable[Cells],
    *,
    label: str,
    groups: Sequence[tuple[str, int]] = (),
    ranked: str = "",
    look: str = "whole",
) -> Html:
    """Numbers in lines, the first cell of each its name; `groups` are headings over several columns each.

    A cell may be text, markup, or a `td` of its own look. `ranked` is the heading by which the rows are already sorted.
    `look` is a class of the style sheet: `whole` for a table that is shown without a frame to scroll in.
    """
    above = tag("tr", *(_group(name, wide) for name, wide in groups), class_="over") if groups else ""
    first = [
        tag("th", name, scope="col", aria_sort="ascending" if name == ranked and ranked else None) for name in headings
    ]
    body = [tag("tr", tag("th", row[0], scope="row"), *(_cell(cell) for cell in row[1:])) for row in rows]
    inner = tag(
        "table", tag("caption", label, class_="unseen"), tag("thead", above, tag("tr", *first)), tag("tbody", *body)
    )
    scroller = tag("div", inner, class_=f"scroller {look}".strip(), tabindex="0", role="region", aria_label=label)
    return tag("div", scroller, data_widget="sortable")


def _cell(cell: object) -> Html:
    return cell if isinstance(cell, Html) and cell.startswith("<td") else tag("td", cell)


def _group(name: str, wide: int) -> Html:
    return tag("th", name, scope="colgroup", colspan=wide) if name else tag("td", "", colspan=wide)
