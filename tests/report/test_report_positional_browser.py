"""The positional part in a real browser: matrices are painted, follow the selected head, and fit a phone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import Tab, nothing_is_cut_off, watched
from dict_manifests import page_of_heads
from synthetic import DECODER, ENCODER
from synthetic_positional import World, positional_run

from wherewhat.report.core.render import render

pytestmark = pytest.mark.browser
SMALL = replace(ENCODER, parts=(("encoder", 3),), heads=4)
PIXELS = "canvas => canvas.toDataURL()"
PIXEL = """(canvas, [x, y]) => {
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    return [...context.getImageData(x, y, 1, 1).data];
}"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An encoder whose means over texts are short, and a decoder, as files."""
    folder = tmp_path_factory.mktemp("positional")
    worlds = {"encoder": (SMALL, World(n=40, short=12)), "decoder": (DECODER, World(n=24, short=24, causal=True))}
    made = {name: folder / f"{name}.html" for name in worlds}
    for name, (shape, world) in worlds.items():
        made[name].write_text(render(page_of_heads(*positional_run(shape, world))), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def encoder(browser: Any, files: dict[str, Path]) -> Iterator[Tab]:
    with watched(browser, files["encoder"]) as tab:
        yield tab
        nothing_is_cut_off(tab)


@pytest.fixture(scope="module")
def decoder(browser: Any, files: dict[str, Path]) -> Iterator[Tab]:
    with watched(browser, files["decoder"], width=390, color_scheme="dark") as tab:
        yield tab
        nothing_is_cut_off(tab)


def big(tab: Tab) -> Any:
    return tab.locator(".matrix canvas")


def pick(tab: Tab, group: str, name: str) -> None:
    tab.get_by_role("group", name=group).get_by_role("button", name=name, exact=True).click()


def test_there_is_a_map_for_every_layer_and_source_and_for_the_heads_of_the_layer(encoder: Tab):
    assert encoder.locator(".by-layer .tile").count() == 3 * 3
    assert encoder.locator(".matrices .tile").count() == 4
    assert encoder.locator(".by-layer h4").count() == 3
    assert big(encoder).evaluate("canvas => canvas.width") == 32
    assert "strongest at offset" in big(encoder).get_attribute("aria-label")


def test_a_local_head_is_orange_on_its_diagonal_and_blue_far_from_it(encoder: Tab):
    red, _, blue, alpha = big(encoder).evaluate(PIXEL, [16, 16])
    assert red - blue > 60 and alpha == 255
    red, _, blue, _ = big(encoder).evaluate(PIXEL, [31, 0])
    assert blue - red > 60


def test_selecting_a_head_shows_its_own_matrix_and_numbers(encoder: Tab):
    before = big(encoder).evaluate(PIXELS)
    other = encoder.locator(".matrices .tile[aria-pressed=false]").first
    name = other.inner_text()
    other.click()
    assert name in encoder.locator(".of-head thead").inner_text()
    assert encoder.locator(".matrices .tile[aria-pressed=true]").inner_text() == name
    assert name in encoder.locator("#profile-name").inner_text()
    assert big(encoder).evaluate(PIXELS) != before
    assert f"of {name} by offset" in encoder.locator("#positional-offsets").get_attribute("aria-label")


def test_another_source_has_its_own_matrix_however_many_slots(encoder: Tab):
    pick(encoder, "Source of the maps", "Means over texts")
    assert big(encoder).evaluate("canvas => canvas.width") == 12
    pick(encoder, "Source of the maps", "Identical words")
    assert big(encoder).evaluate("canvas => canvas.width") == 32


def test_a_layer_tile_goes_to_that_layer(encoder: Tab):
    encoder.locator(".by-layer .tile").nth(2).click()
    assert "All heads of layer 2" in encoder.locator(".matrices").inner_text()


def test_pointing_at_a_cell_says_how_often_it_is_the_even_share(encoder: Tab):
    big(encoder).scroll_into_view_if_needed()
    big(encoder).hover(position={"x": 4, "y": 4})
    encoder.locator("#tip").wait_for(state="visible")
    assert "query 0, key 0" in encoder.locator("#tip").inner_text().replace(" to 1", "")
    assert "× uniform attention" in encoder.locator("#tip").inner_text()


def test_the_plane_shows_every_head_and_what_content_adds(encoder: Tab):
    marks = encoder.locator("#positional-plane .mark-symbol").first.locator("path")
    assert marks.count() == 12
    at = "marks => marks.map(mark => mark.getAttribute('transform')).join()"
    before = marks.evaluate_all(at)
    pick(encoder, "Part of attention", "What content adds, γ")
    assert "γ relative to identical words" in encoder.locator("#positional-plane").get_attribute("aria-label")
    encoder.wait_for_function(
        "before => [...document.querySelector('#positional-plane .mark-symbol').querySelectorAll('path')]"
        ".map(mark => mark.getAttribute('transform')).join() !== before",
        arg=before,
    )


def test_lines_by_layer_can_be_of_the_mean_matrix(encoder: Tab):
    lines = encoder.locator("[data-chart^=positional_layers]").nth(1).locator(".mark-line path")
    assert lines.count() == 2, "means over texts have fewer slots, and stand in a view of their own"
    before = lines.first.get_attribute("d")
    pick(encoder, "Balance by layer", "Mean matrix, n = 40")
    encoder.wait_for_function(
        "before => document.querySelectorAll('[data-chart^=positional_layers]')[1]"
        ".querySelector('.mark-line path')?.getAttribute('d') !== before",
        arg=before,
    )


def test_one_head_does_not_list_the_scores_of_the_positional_part(encoder: Tab):
    assert "identical." not in encoder.locator("#dots-chart").get_attribute("aria-label")
    assert "locality" in encoder.locator("#dots-chart").get_attribute("aria-label")


def test_what_the_mask_hides_is_empty_and_the_mask_can_be_taken_away(decoder: Tab):
    assert big(decoder).evaluate(PIXEL, [23, 0])[3] == 0
    assert big(decoder).evaluate(PIXEL, [0, 23])[3] == 255
    pick(decoder, "Source of the maps", "Identical words, unmasked")
    assert big(decoder).evaluate(PIXEL, [23, 0])[3] == 255


def test_on_a_phone_matrices_stay_inside_and_follow_the_light(decoder: Tab):
    assert big(decoder).bounding_box()["width"] < 390
    assert decoder.locator("#positional .numbers").evaluate("box => box.scrollWidth > box.clientWidth")
    dark = big(decoder).evaluate(PIXELS)
    decoder.emulate_media(color_scheme="light")
    decoder.wait_for_function(f"dark => ({PIXELS})(document.querySelector('.matrix canvas')) !== dark", arg=dark)
    decoder.emulate_media(color_scheme="dark")
