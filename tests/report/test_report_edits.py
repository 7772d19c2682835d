"""The page of an edit, from tables alone: what it says, what it draws, and what it leaves out."""

import json
import re
from typing import Any

import polars as pl
import pytest
from dict_manifests import page_of_edit

from wherewhat.errors import UserError
from wherewhat.report.core.page import Chart, Columns, Page
from wherewhat.report.core.render import render
from wherewhat.tables.schema import EDIT, HEADS, frame

TOLD = "unrotate high:0.25"
MODEL = "a <b>model</b>"
Row = tuple[Any, ...]


def manifest(**edit: Any) -> dict[str, Any]:
    return {
        "edit": {"told": TOLD, "each": None, "unrotate": ["high:0.25"], **edit},
        "model": {"id": MODEL, "layers": 2, "heads": 4, "parameters": 260_032},
        "texts": {"count": 30, "tokens": 1200, "source": "book.txt"},
        "predicts": "next",
        "random": {"sequences": 32, "half": 48},
        "scores": {"position_share": {"range": [0, 1]}, "entropy": {"range": [0, None]}},
        "bands": [
            {"layer": layer, "band": f"index:{f}", "theta": [10.0**-f] * 2} for layer in (0, 1) for f in range(3)
        ],
    }


def whole(**changes: tuple[float, float, float]) -> list[Row]:
    """Rows about the whole model: before 1, after 1 + change."""
    rows: list[Row] = []
    for measure, (change, low, high) in changes.items():
        about = (MODEL, TOLD, None, None, None, measure)
        rows.append((*about, "before", 1.0, 0.9, 1.1, 30))
        rows.append((*about, "after", 1.0 + change, 0.9 + change, 1.1 + change, 30))
        rows.append((*about, "change", change, low, high, 30))
    return rows


def scored(name: str, *changes: float) -> list[Row]:
    """Rows about four heads: by how much a score changed."""
    return [
        (MODEL, TOLD, n // 2, n % 2, None, f"head.{name}", "change", change, change - 0.01, change + 0.01, 30)
        for n, change in enumerate(changes)
    ]


def heads(*scores: str, after: bool = True) -> pl.DataFrame:
    rows = []
    for model, at in ((MODEL, 0.2), (f"{MODEL} · {TOLD}", 0.5))[: 2 if after else 1]:
        for n in range(4):
            known = {"model": model, "layer": n // 2, "head": n % 2, "value": at + 0.1 * n, "low": 0.1, "high": 0.9}
            rows += [known | {"score": score, "chance": 0.3, "texts": 30, "part": "decoder"} for score in scores]
    return pl.DataFrame(rows, schema=HEADS)


def page(rows: list[Row], table: pl.DataFrame | None = None, **edit: Any) -> Page:
    shown = heads("position_share", "symbol_share") if table is None else table
    return page_of_edit(frame(rows, EDIT), shown, manifest(**edit))


LOSS = {"loss": (0.25, 0.2, 0.3)}


def table_of(made: Page, name: str, view: str = "") -> Columns:
    """The table of one view of a chart, by default of the first."""
    views = {each.title: each.tables["rows"] for each in made.chart(name).views}
    return views[view or next(iter(views))]


def charts_of(made: Page) -> set[str]:
    return {each.name for each in made.placed if isinstance(each, Chart)}


def test_the_first_screen_says_what_changed_and_by_what_operation():
    made = page(whole(loss=(0.25, 0.2, 0.3), copy=(-0.3, -0.4, -0.2), induction=(0.0, 0.0, 0.0)))
    assert made.title == MODEL and made.kind == f"Edit: {TOLD}"
    assert made.lede == (
        "The loss rises by 0.250 nats, so that the perplexity is 1.28 times what it was; copying random tokens suffers."
    )
    first = made.sections[0].body
    assert first.index("Loss") < first.index("Copy") < first.index("Induction")
    assert "+0.250" in first and "+0.200 to +0.300" in first and "−0.400 to −0.200" in first and "no change" in first
    assert "<b>Unrotate</b> removes only a rotation" in first and "<b>Drop</b>" not in first
    assert ("32 × 48", "random tokens, repeated once") in made.facts


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ("drop", "<b>Drop</b> removes channels"),
        ("keep", "<b>Keep</b> removes channels"),
        ("scale", "<b>Scale</b> changes the weight"),
        ("ablate", "<b>Ablate</b> sets the output of heads to 0"),
    ],
)
def test_every_operation_is_told_from_the_others(operation: str, said: str):
    body = page(whole(**LOSS), unrotate=[], **{operation: ["x"]}).sections[0].body
    assert said in body and "<b>Unrotate</b>" not in body


def test_a_change_that_may_be_none_is_called_so():
    made = page(whole(loss=(0.01, -0.02, 0.04), copy=(0.01, -0.02, 0.04)))
    assert "The loss does not clearly change (−0.020 to +0.040 nats)" in made.lede
    assert "copying does not clearly change" in made.lede
    assert "no clear change" in made.sections[0].body


def test_a_model_that_never_copied_is_not_said_to_have_kept_it():
    rows = whole(**LOSS) + [
        (MODEL, TOLD, None, None, None, "copy", state, 0.001, 0.0, 0.002, 32) for state in ("before", "after", "change")
    ]
    assert page(rows).lede.endswith("random tokens are copied neither before nor after.")


def test_one_text_gives_no_interval():
    rows = [(*row[:8], None, None, 1) for row in whole(**LOSS)]
    assert "no interval from one text" in page(rows).sections[0].body


def test_heads_go_from_where_they_were_to_where_they_are():
    made = page(whole(**LOSS) + scored("position_share", 0.3, 0.3, 0.3, 0.3))
    moves = table_of(made, "plane")
    assert moves["x"] == pytest.approx([0.2, 0.3, 0.4, 0.5]) and moves["x2"] == pytest.approx([0.5, 0.6, 0.7, 0.8])
    assert moves["tip"][3] == "L1H1: position share 0.50 → 0.80, symbol share 0.50 → 0.80"
    titles = [view.title for view in made.chart("plane").views]
    assert titles == ["position share and symbol share"] and made.figures["plane"].tables["rows"] == moves


def test_other_scores_stand_in_where_shares_are_missing():
    made = page(whole(**LOSS), heads("previous", "self", "entropy"))
    assert [view.title for view in made.chart("plane").views] == ["previous and self"]
    assert "plane" not in charts_of(page(whole(**LOSS), heads("entropy")))


def test_heads_without_a_value_on_both_sides_are_counted():
    table = heads("position_share", "symbol_share")
    lost = pl.col("model").str.contains("·") & (pl.col("layer") == 0)
    made = page(whole(**LOSS), table.with_columns(value=pl.when(lost).then(None).otherwise(pl.col("value"))))
    section = next(one for one in made.sections if one.name == "plane")
    assert (
        len(table_of(made, "plane")["x"]) == 2 and "2 heads without a value on both sides are not shown" in section.body
    )


def test_what_changed_most_comes_first_and_what_may_be_chance_is_grey():
    made = page(whole(**LOSS) + scored("position_share", 0.1, -0.3, 0.005, 0.2) + scored("induction", 0, 0, 0, 0.5))
    assert [view.title for view in made.chart("changed").views] == ["position share", "induction"]
    changed = table_of(made, "changed", "position share")
    assert changed["who"] == ["L0H1", "L1H1", "L0H0", "L1H0"]
    assert changed["side"] == ["below", "above", "above", "unclear"]
    assert changed["tip"][0] == "L0H1 position share: −0.300 (−0.310 to −0.290)"
    assert "map" not in charts_of(made), "the score called induction is none of the model's abilities"


def sweep(each: str, *measures: str) -> list[Row]:
    """Rows of a sweep over two layers and three heads or bands."""
    rows: list[Row] = []
    for measure in measures:
        for layer in (0, 1):
            for n in range(3):
                head, band = (n, None) if each == "head" else (None, f"index:{n}")
                change = 0.1 * n - 0.15 * layer
                rows.append(
                    (MODEL, "x", layer, head, band, measure, "change", change, change - 0.06, change + 0.06, 30)
                )
    return rows


def test_a_sweep_of_heads_is_a_map():
    made = page(whole(**LOSS) + scored("entropy", 0.1, 0.2) + sweep("head", "loss", "copy"), each="head")
    titles = [view.title for view in made.chart("changed").views]
    assert titles == ["entropy"], "what the sweep measured is no score of a head"
    views = made.chart("map").views
    assert [view.title for view in views] == ["Loss", "Copy"]
    cells = table_of(made, "map")
    assert len(cells["column"]) == 6 == len(table_of(made, "map", "Copy")["column"]) and cells["column"][:3] == [
        0,
        1,
        2,
    ]
    assert max(map(abs, cells["reach"])) == pytest.approx(1), "colours reach as far as the largest change"
    assert cells["clear"][:3] == [False, True, True]
    section = next(one for one in made.sections if one.name == "map")
    assert section.title == "Each head alone"
    assert "`L0H2` changes the loss most: +0.200 (+0.140 to +0.260)" in section.lede
    written = json.loads(re.search(r'data-views="([^"]*)"', section.body)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert [title for title, *_ in written] == ["Loss", "Copy"]
    assert {"map", "map_Copy"} <= made.figures.keys()


def test_a_sweep_of_bands_is_a_map_by_wavelength():
    made = page(whole(**LOSS) + sweep("band", "loss"), each="band")
    cells = table_of(made, "map")
    assert cells["label"] == ["0|6.28", "1|62.8", "2|628"] * 2
    assert cells["tip"][1] == "layer 0, index:1 (wavelength 62.8 tokens): loss +0.100 (+0.040 to +0.160)"


def test_bands_that_differ_between_layers_are_only_numbered():
    rows = whole(**LOSS) + sweep("band", "loss")
    bands = manifest()["bands"]
    unlike = [{**band, "theta": [0.5 ** band["layer"]] * 2} for band in bands]
    made = page_of_edit(frame(rows, EDIT), heads("entropy"), {**manifest(each="band"), "bands": unlike})
    assert table_of(made, "map")["label"] == ["0", "1", "2"] * 2
    few = page_of_edit(frame(rows, EDIT), heads("entropy"), {**manifest(each="band"), "bands": bands[:2]})
    assert table_of(few, "map")["label"][:3] == ["0|6.28", "1|62.8", "2"], "a band that the manifest does not have"


def ranked_lines(made: Page) -> list[list[str]]:
    body = next(one for one in made.sections if one.name == "ranking").body.partition("<tbody>")[2]
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", body)]


def test_a_sweep_of_heads_is_ranked_by_the_size_of_the_change_of_the_loss():
    made = page(whole(**LOSS) + sweep("head", "loss", "copy"), each="head")
    lines = ranked_lines(made)
    changes = {f"L{row[2]}H{row[3]}": row[7] for row in sweep("head", "loss")}
    assert [line[0] for line in lines] == sorted(changes, key=lambda head: -abs(changes[head]))
    assert lines[0][:4] == ["L0H2", "1", "+0.200", "+0.140 to +0.260"] and len(lines[0]) == 6, "loss, then copy"
    body = next(one for one in made.sections if one.name == "ranking").body
    assert 'data-exact="0.14 0.26"' in body and 'class="unclear"' in body


def test_a_sweep_of_bands_is_ranked_with_layer_and_wavelength():
    lines = ranked_lines(page(whole(**LOSS) + sweep("band", "loss"), each="band"))
    assert lines[0] == ["index:2", "1", "0", "628", "+0.200", "+0.140 to +0.260"]


def test_a_sweep_alone_shows_only_before():
    rows = [row for row in whole(**LOSS) if row[6] == "before"] + sweep("head", "loss")
    made = page(rows, heads("position_share", "symbol_share", after=False), each="head", unrotate=[])
    assert made.kind == "Edit: every head alone" and made.sections[0].title == "Before"
    assert made.lede.startswith("Every head is edited alone") and [one.name for one in made.sections[:2]] == [
        "change",
        "map",
    ]
    assert "→" not in made.sections[0].body


def test_one_text_gives_no_interval_and_the_page_says_so():
    rows = [(*row[:8], None, None, 1) for row in whole(**LOSS) + sweep("band", "loss")]
    made = page(rows, each="band")
    assert made.lede.startswith("The loss rises by 0.250 nats, so that") and "(one text gives no interval)" in made.lede
    assert "not told from none" not in render(made)
    slope = table_of(made, "slope")
    assert slope["low"] == slope["value"] == slope["high"], "nothing is drawn from nothing"


def test_the_page_says_which_frequencies_a_band_is():
    band = {"operation": "unrotate", "band": "high:0.25", "numbers": "0", "of": 4, "wavelengths": [6.28, 6.28]}
    text = render(page(whole(**LOSS), frequencies=[{**band, "layers": [0, 1]}]))
    assert "Here <code>high:0.25</code> is frequency 0 of 4, counted from 0, with a wavelength of 6.28 tokens." in text
    bands = [{**band, "layers": [0]}, {**band, "layers": [1], "numbers": "0-1", "wavelengths": [6.28, 62.8]}]
    assert "is frequencies 0-1 of 4, counted from 0, with a wavelength of 6.28 to 62.8 tokens in layer 1." in render(
        page(whole(**LOSS), frequencies=bands)
    )


def test_copying_no_more_than_guessing_would_is_no_copying():
    rows = whole(loss=(0.25, 0.2, 0.3)) + whole(copy=(-0.02, -0.03, -0.01))
    rows = [(*row[:7], 0.05 if row[6] != "change" else row[7], *row[8:]) if row[5] == "copy" else row for row in rows]
    few = {**manifest(), "random": {"sequences": 8, "half": 10, "of": 20}}
    made = page_of_edit(frame(rows, EDIT), frame([], HEADS), few)
    assert made.lede.endswith("random tokens are copied neither before nor after.")
    assert "guessing gives 0.050" in render(made)


def test_a_table_without_a_loss_is_refused():
    with pytest.raises(UserError, match="no loss of the whole model; run `wherewhat edit` again"):
        page(scored("entropy", 0.1))


def test_the_page_is_one_text_and_escapes_what_it_is_given():
    text = render(page(whole(**LOSS) + scored("entropy", 0.1, 0.2) + sweep("band", "loss"), each="band"))
    assert "<b>model</b>" not in text and "a &lt;b&gt;model&lt;/b&gt;" in text
    assert text == render(page(whole(**LOSS) + scored("entropy", 0.1, 0.2) + sweep("band", "loss"), each="band"))


@pytest.mark.browser
def test_the_page_opens_wide_and_narrow_without_a_complaint(shown: Any):
    rows = whole(loss=(0.25, 0.2, 0.3), copy=(-0.3, -0.4, -0.2)) + scored("entropy", 0.1, 0.2) + sweep("band", "loss")
    with shown(page(rows, each="band")) as tab:
        assert tab.locator("[data-widget=drawn] svg").count() == 5, "two slopes, map, plane, what changed most"
        assert tab.locator("#map svg .role-mark.mark-rect path").count() == 6
        tab.set_viewport_size({"width": 390, "height": 800})
