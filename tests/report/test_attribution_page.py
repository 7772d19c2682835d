"""The page of an attribution, from its table alone: what it says, what it draws, and what it leaves out."""

import subprocess
import sys
from typing import Any

import polars as pl
import pytest
from dict_manifests import notebook_html, page_of_attribution
from synthetic_relevance import TOKENS, attribution_run, ledger, output

from wherewhat.errors import UserError
from wherewhat.report.blocks.token_text import token_text, token_texts
from wherewhat.report.core.figures import figures, rows
from wherewhat.report.core.page import Chart, Page
from wherewhat.report.core.render import render
from wherewhat.report.pages.attribution.evaluation import evaluation_findings
from wherewhat.tables.schema import EVALUATION, EVALUATION_DIFFERENCES, RELEVANCE_DISTANCES, frame

ADDS, TAKES = (221, 132, 51), (77, 134, 187)  # the orange and the blue of the light palette


def page(*methods: str, **more: Any) -> Page:
    return page_of_attribution(*attribution_run(methods or ("pa-lrp", "attnlrp"), **more))


def names(made: Page) -> list[str]:
    return [section.name for section in made.sections]


def body(made: Page, name: str) -> str:
    return next(section.body for section in made.sections if section.name == name)


def drawn(made: Page, chart: str, view: int = 0) -> list[dict[str, Any]]:
    return [dict(row) for row in rows(made.chart(chart).views[view].tables["rows"])]


def test_the_page_says_what_speaks_for_an_output_and_what_against_it():
    made = page()
    assert made.findings == [
        "Next token “to” (68\N{NO-BREAK SPACE}%): for it “her” +8.60, “&lt;script&gt;alert(1)&lt;/script&gt;” +3.30, "
        "“&lt;s&gt;” +0.50; against it “Once” −0.90."
    ]
    assert made.kind == "Attribution: next token by pa-lrp, attnlrp"
    assert made.facts[:2] == [("1", "output"), ("1", "text")]


def test_positions_alone_are_said_to_be_so():
    made = page("pa-lrp", aggregate={"name": "position", "about": "positions alone"})
    assert "Next token “to” (68\N{NO-BREAK SPACE}%), by positions alone: for it" in made.findings[0]


def test_ledgers_of_several_texts_are_told_apart():
    assert "text 2, pa-lrp" in body(page("pa-lrp", outputs=2), "ledger")
    assert "text 1" not in body(page(), "ledger")


def test_every_part_has_its_section():
    whole = ["text", "ledger", "layers", "heads", "frequencies", "methods", "numbers", "reading", "texts", "made"]
    assert names(page()) == whole
    assert names(page("attnlrp")) == ["text", "ledger", "numbers", "reading", "texts", "made"]


def test_a_token_is_text_and_never_markup():
    written = render(page())
    assert "<script>alert" not in written and "<b>model" not in written
    assert written.count("</script") == 3, "data, library and our own script"
    assert "alert(1)" in written.partition('id="data"')[2], "it is there, escaped"
    table, manifest = attribution_run()
    shaded = notebook_html(table, manifest)
    assert "<script>" not in shaded and "&lt;script&gt;alert(1)" in shaded


def test_the_script_gets_every_number_by_slot():
    made = page()
    assert made.tables["relevance-0"]["token"] == [0.5, -1.0, 0.25, 0.0, 3.0, 8.0]
    assert made.tables["relevance-0"]["position"] == pytest.approx([0.0, 0.1, -0.1, 0.0, 0.3, 0.6])
    assert made.tables["relevance-0"]["combined"] == pytest.approx([0.5, -0.9, 0.15, 0.0, 3.3, 8.6])
    assert made.tables["relevance-1"]["combined"] == made.tables["relevance-1"]["token"]
    assert made.tables["pieces-0"]["text"][:4] == ["<s>", "Once", "up", "on"]
    assert made.tables["pieces-0"]["spaced"] == [0, 1, 1, 0, 1, 1]
    first, second = made.about["explanations"]
    assert [part for part, _ in first["parts"]] == ["combined", "token", "position"] and first["name"] == "to"
    assert [part for part, _ in second["parts"]] == ["combined"], "nothing to choose where positions have nothing"


def test_the_ledger_is_a_sentence_and_a_waterfall():
    made = page()
    sentence = "Relevance adds up to the logit, 14.0: tokens have 77\N{NO-BREAK SPACE}%, positions have 6"
    assert sentence in body(made, "ledger")
    steps = drawn(made, "ledger")
    assert [(row["start"], row["end"]) for row in steps] == [
        (0, 10.75),
        (10.75, pytest.approx(11.65)),
        (pytest.approx(11.65), pytest.approx(14.0)),
        (0, 14.0),
    ]
    assert [row["part"] for row in steps] == [
        "tokens +10.75",
        "positions +0.90",
        "kept by softmaxes +2.35",
        "logit 14.0",
    ]
    assert "added biases" not in body(made, "ledger"), "a part that no output has"


def test_parts_of_both_signs_are_told_as_numbers():
    one = ledger("pa-lrp", tokens=-1.0, positions=4.0, softmax=0.0, biases=2.5, logit=5.5)
    made = page("pa-lrp", ledgers=[one])
    assert "5.50: tokens have −1.00, positions have +4.00 and added biases have +2.50." in body(made, "ledger")
    assert [row["kind"] for row in drawn(made, "ledger")] == ["takes", "adds", "adds", "logit"]


def test_relevance_that_is_missing_is_said_and_drawn():
    made = page("pa-lrp", ledgers=[ledger("pa-lrp", tokens=8.0, rest=2.75, balances=False)])
    assert "does not add up to the logit, 14.0: +2.75 is missing, so do not rely on" in body(made, "ledger")
    assert "missing +2.75" in [row["part"] for row in drawn(made, "ledger")]
    made = page(ledgers=[ledger("pa-lrp")])
    assert "what attnlrp gives to tokens does not add up to the logit" in body(made, "ledger")
    assert [each["shares"] for each in made.about["explanations"]] == [True, False], "shares of the logit"
    scaled = page(aggregate={"name": "absolute", "about": "scaled to at most 1"})
    assert not any(each["shares"] for each in scaled.about["explanations"])
    assert "ledger" not in names(page("pa-lrp", ledgers=[]))


def test_maps_have_a_cell_for_every_layer_and_slot():
    made = page()
    cells = drawn(made, "layers_slot")
    assert len(cells) == 12 and {cell["row"] for cell in cells} == {"layer 0", "layer 1"}
    assert cells[5]["place"] == "5 her" and cells[5]["reach"] == pytest.approx(1.0)
    assert cells[2]["tip"] == "layer 0, slot 2 “up”: −0.200"
    assert made.chart("layers_slot").follows == [0], "the other method has no positions"
    assert [row["value"] for row in drawn(made, "layer_sums")] == pytest.approx([0.6, 0.3])
    assert len(drawn(made, "layers_head")) == 4 and len(drawn(made, "layers_frequency")) == 6
    first = drawn(made, "layers_frequency")[0]
    assert first["tip"] == "layer 0, frequency 0 (wavelength 6.28 tokens): +0.300" and first["place"] == "0 0\x1f6.28"
    plain = drawn(page(frequencies=[]), "layers_frequency")[0]
    assert plain["tip"] == "layer 0, frequency 0: +0.300" and plain["place"] == "0 0"


def test_what_is_spread_over_slots_is_not_counted_twice():
    table, manifest = attribution_run(("pa-lrp",))
    by_slot = table.filter(pl.col("head").is_null() & pl.col("frequency").is_null())
    alone = page_of_attribution(by_slot, manifest)
    assert alone.tables["relevance-0"] == page("pa-lrp").tables["relevance-0"]
    assert "heads" not in names(alone) and "frequencies" not in names(alone)


def with_distances(*rows: tuple[int | None, int, float, float]) -> Page:
    """A page with logits split by layer and distance: content, then position."""
    table, manifest = attribution_run()
    values = [
        (0, 0, "pa-lrp", layer, distance, part, value)
        for layer, distance, *pair in rows
        for part, value in zip(("content", "position"), pair, strict=True)
    ]
    return page_of_attribution(table, manifest, distances=frame(values, RELEVANCE_DISTANCES))


def test_logits_are_split_by_distance():
    made = with_distances((0, 0, 1.0, 0.0), (0, 1, -0.5, 0.25), (1, 0, 0.5, 0.0), (1, 1, 0.0, -0.75))
    points = {(row["part"], row["distance"]): row["value"] for row in drawn(made, "distances")}
    assert points == {
        ("content", 0): 1.5,
        ("content", 1): -0.5,
        ("position", 0): 0.0,
        ("position", 1): pytest.approx(-0.5),
    }
    sentence = (
        "Position has 33\N{NO-BREAK SPACE}% of the relevance of logits, by size; the largest part of it 1 token back."
    )
    assert sentence in body(made, "distances") and "A rotation by nothing adds nothing here" in body(made, "reading")
    cells = drawn(made, "layers_distance")
    assert [cell["tip"] for cell in cells][-1] == "layer 1, distance 1: −0.750" and len(cells) == 4
    assert made.chart("distances").follows == [0], "the other method has none"


def test_a_bias_that_layers_share_has_one_line_for_all():
    made = with_distances((None, -1, 0.5, 0.5), (None, 0, 0.0, 0.0))
    assert "the largest part of it 1 token on." in body(made, "distances")
    assert all(chart.name != "layers_distance" for chart in made.placed if isinstance(chart, Chart))
    assert "distances" not in names(page()), "nothing to draw"


@pytest.mark.parametrize(
    ("low", "words"),
    [
        (0.05, " Its difference from AttnLRP is +0.10 (0.050 to 0.30)."),
        (-0.05, " Its difference from AttnLRP is +0.10 (−0.050 to 0.30), which may be chance."),
        (None, " Its difference from AttnLRP is +0.10, which may be chance."),
    ],
)
def test_the_best_method_is_compared_with_attnlrp(low: float | None, words: str):
    high = None if low is None else 0.3
    arms = [("pa-lrp", "signed", 0.5), ("attnlrp", "", 0.4), ("left to right", "", 0.9)]
    scores = frame([("texts", *arm, "abpc", value, None, None, 0.0, 8) for *arm, value in arms], EVALUATION)
    gap = ("texts", "pa-lrp", "signed", "attnlrp", "abpc", 0.1, low, high, 8)
    (sentence,) = evaluation_findings(scores, frame([gap], EVALUATION_DIFFERENCES))
    assert sentence == f"On 8 texts (texts), PA-LRP, signed has the highest ABPC: 0.50; random orders have 0.{words}"
    few = evaluation_findings(scores, frame([(*gap[:-1], 5)], EVALUATION_DIFFERENCES))
    assert few[0].endswith("which may be chance."), "of five texts"
    best = scores.filter(pl.col("method") != "pa-lrp")
    assert evaluation_findings(best, frame([], EVALUATION_DIFFERENCES))[0].endswith("0.40; random orders have 0.")


def test_methods_stand_beside_each_other():
    made = page()
    cells = drawn(made, "methods")
    assert [cell["row"] for cell in cells] == ["pa-lrp"] * 6 + ["attnlrp"] * 6
    assert "Rank correlation with pa-lrp: attnlrp 1.00." in body(made, "methods")


def test_how_to_read_it_names_the_limits():
    reading = body(page(), "reading")
    assert "not how much position matters" in reading, "the total of a rotation"
    assert "it gets no relevance under any rule" in reading, "a causal mask"
    assert "it gets no relevance" not in body(page(causal=False), "reading")
    assert "Position enters this model nowhere as a value of its own" in body(page("attnlrp"), "reading")
    table, manifest = attribution_run(("pa-lrp",))
    for source, words in (
        ("table", "added to the embedding of the token"),
        ("bias", "each of both slots gets half"),
        ("distance keys", "Products of content with what belongs to a distance"),
    ):
        other = table.with_columns(pl.col("source").replace("rotation", source))
        assert words in body(page_of_attribution(other, manifest), "reading")


def test_other_kinds_of_output():
    label = output(kind="labels", name="entailed", slot=None, likeliest="<other>", probability=0.0012)
    table, manifest = attribution_run(("pa-lrp",))
    made = page_of_attribution(table, {**manifest, "outputs": [label]})
    assert (
        "Label “entailed” (0.12\N{NO-BREAK SPACE}%), where the model prefers “&lt;other&gt;”: for" in made.findings[0]
    )
    mask = output(kind="masked", slot=3)
    assert page_of_attribution(table, {**manifest, "outputs": [mask]}).about["explanations"][0]["slot"] == 3


def test_many_outputs_are_named_by_their_texts():
    made = page("pa-lrp", outputs=7)
    assert len(made.findings) == 5 and made.findings[1].startswith("Text 2: next token “to”")
    assert made.facts[:2] == [("7", "outputs"), ("7", "texts")]
    assert len(made.chart("layers_slot").views) == 7


def test_more_than_a_page_can_show_is_said():
    table, manifest = attribution_run(("attnlrp",), outputs=62)
    made = page_of_attribution(table, manifest)
    assert len(made.about["explanations"]) == 60 and "has 2 more explanations than this page shows" in body(
        made, "made"
    )


def test_a_table_without_tokens_is_refused():
    table, manifest = attribution_run(("pa-lrp",))
    with pytest.raises(UserError, match="the table has no relevance of tokens; run `wherewhat attribute` again"):
        page_of_attribution(table.filter(pl.col("source") != "token"), manifest)


def test_every_figure_is_drawn():
    made = page("pa-lrp")
    assert set(made.figures) == {"ledger", "layers_slot", "layers_head", "layers_frequency"}
    assert all(picture.startswith(b"\x89PNG") for picture in figures(made).values())
    several = set(page(outputs=2).figures)
    assert {name for name in several if name.startswith("methods")} == {"methods", "methods_output_1_to_pa_lrp"}, (
        "once per output, whatever method is chosen"
    )


def test_the_page_needs_no_torch():
    code = "import sys; import wherewhat.report.pages.attribution.page; print({'torch', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_a_notebook_shows_the_text_shaded():
    shaded = notebook_html(*attribution_run(("pa-lrp",)))
    assert f"rgba({','.join(map(str, ADDS))},0.700)" in shaded, "the largest"
    assert f"rgba({','.join(map(str, TAKES))},0.073)" in shaded and "<script" not in shaded
    assert 'title="slot 5, token +8.000, position +0.600, combined +8.600"' in shaded
    assert "Next token “to”" in shaded and "Relevance adds up to the logit" in shaded


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (TOKENS[:4], "<s> Once upon"),
        (("ĠHello", ",", "Ġcaf", "Ã©", "Ċ", "<|end|>"), " Hello, café↵<|end|>"),
        (("[CLS]", "play", "##ing", "."), " [CLS] playing ."),
        (("▁a", "<0x0A>", "▁"), " a↵ ␣"),
        (("Ġa", "Ã"), " a\N{REPLACEMENT CHARACTER}"),
        (("", "x"), " ∅ x"),
        (("caf", "Ã©"), "café"),  # bytes, although there is no space
        (("café", "é"), " café é"),  # no bytes: they would not be UTF-8
        (("ĠæĹ", "¥æľ", "¬", "ĠðŁ", "ĺ", "Ģ"), " 日本⋅ 😀⋅⋅"),
        (("▁", "<0xE6>", "<0x97>", "<0xA5>", "s"), " ␣日⋅⋅s"),
        (("<0xE6>", "<0x97>"), "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"),
        (("##",), " ##"),
    ],
)
def test_tokens_as_text(tokens: tuple[str, ...], text: str):
    assert "".join(f"{' ' if each.spaced else ''}{each.text}" for each in token_texts(tokens)) == text
    assert token_text("▁to", tokens) == token_texts([*tokens, "▁to"])[-1].text


def of_token(tab: Any, slot: int, name: str) -> str:
    return tab.evaluate(f"document.querySelector('.tok[data-slot=\"{slot}\"]').style.getPropertyValue('{name}')")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_the_page_fits_and_nothing_goes_wrong(shown: Any, width: int, scheme: str):
    with shown(page(outputs=3), width=width, color_scheme=scheme) as tab:
        assert tab.locator(".tok").count() == 6
        assert tab.locator("[data-widget=drawn] svg").count() == 6


@pytest.mark.browser
def test_a_token_is_shaded_by_its_share_and_says_its_numbers(shown: Any):
    with shown(page()) as tab:
        assert [of_token(tab, slot, "--share") for slot in (5, 3)] == ["1", "0"]
        assert float(of_token(tab, 1, "--share")) == pytest.approx(0.9 / 8.6, rel=1e-3)
        takes = tab.locator(".tok.takes").all_inner_texts()
        assert takes == ["Once"]
        tab.locator(".tok").nth(5).hover()
        card = tab.locator("#tip").inner_text().split("\n")
        assert card == [
            "her slot 5",
            "combined",
            "+8.60",
            "token",
            "+8.00",
            "position",
            "+0.60",
            "of the logit",
            "61.4 %",
        ]


@pytest.mark.browser
def test_arrow_keys_walk_through_the_text(shown: Any):
    with shown(page()) as tab:
        tab.locator(".shaded").focus()
        for _ in range(2):
            tab.keyboard.press("ArrowRight")
        assert tab.locator(".tok.walked").inner_text() == "Once"
        assert "Once slot 1" in tab.locator("#tip").inner_text()
        assert "−0.90" in tab.locator("#live").inner_text()


@pytest.mark.browser
def test_the_text_is_shaded_by_what_is_chosen(shown: Any):
    with shown(page()) as tab:
        tab.get_by_role("button", name="positions", exact=True).click()
        assert float(of_token(tab, 4, "--share")) == pytest.approx(0.5, rel=1e-3)
        tab.get_by_role("button", name="tokens", exact=True).click()
        assert float(of_token(tab, 4, "--share")) == pytest.approx(3 / 8, rel=1e-3)


@pytest.mark.browser
def test_every_part_follows_the_chosen_method(shown: Any):
    with shown(page()) as tab:
        assert "positions have" in tab.locator("#ledger .told").inner_text()
        assert tab.locator("#layers .drawn").first.is_visible()
        assert tab.locator("#numbers thead th").all_inner_texts()[2:5] == ["positions", "tokens", "combined"]
        tab.locator("#text").get_by_role("button", name="attnlrp").click()
        assert "positions have" not in tab.locator("#ledger .told").inner_text()
        assert not tab.locator("#layers .drawn").first.is_visible(), "it has no positions"
        assert tab.locator("#numbers thead th").all_inner_texts()[2:] == ["relevance", "share of the logit"]
        tab.locator("#text").get_by_role("button", name="pa-lrp").click()
        assert tab.locator("#layers .drawn svg").first.is_visible()


@pytest.mark.browser
def test_every_part_follows_the_chosen_text(shown: Any):
    with shown(page("pa-lrp", outputs=3)) as tab:
        options = tab.locator("#text select option").all_inner_texts()
        assert options[1].startswith("2: <s> Once upon")
        tab.locator("#text select").select_option("2")
        assert tab.locator("#numbers tbody tr").nth(5).locator("td").nth(2).inner_text() == "+2.67"


@pytest.mark.browser
def test_charts_outside_any_choice_are_drawn_as_ever(shown: Any):
    assert all(not chart.follows for chart in page_without_choice().placed if isinstance(chart, Chart))
    with shown(page_without_choice()) as tab:
        assert tab.locator("[data-widget=drawn] svg").count() == 2


def page_without_choice() -> Page:
    from test_report_drawn_browser import made

    return made()
