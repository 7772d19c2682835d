"""The page as text: small, the same every time, whole in itself, and deaf to whatever its strings say."""

import base64
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert
from dict_manifests import page_of_heads, read_head_table
from synthetic import BOTH, DECODER, ENCODER, LARGE, ONE, Run, Shape, run_of

from wherewhat.errors import UserError
from wherewhat.report.core.figures import figures
from wherewhat.report.core.page import Page
from wherewhat.report.core.render import _library, inline, json_in_html, render
from wherewhat.report.pages.heads.notable_heads import notable_heads
from wherewhat.report.pages.heads.offsets import bins, profiles
from wherewhat.tables.cache import FOLDER

HOSTILE = """</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&\u2028"""
ASSETS = Path(__file__).resolve().parents[2] / "src" / "wherewhat" / "report" / "core" / "assets"


class Reader(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.inside.append("/" + tag)

    def handle_data(self, data: str) -> None:
        {"script": self.scripts, "style": self.styles}.get(self.inside[-1] if self.inside else "", self.words).append(
            data
        )


@cache
def run(shape: Shape) -> Run:
    return run_of(shape, random.Random(0))


@cache
def page(shape: Shape) -> Page:
    return page_of_heads(*run(shape))


@cache
def text(shape: Shape) -> str:
    return render(page(shape))


def data_of(written: str) -> dict[str, Any]:
    return json.loads(Reader(written).scripts[0])


def rows(**numbers: tuple[float | None, float | None, float | None, float | None]) -> pl.DataFrame:
    """A small table: one score, and a head for each value, low, high and chance."""
    schema = dict.fromkeys(("value", "low", "high", "chance"), pl.Float64)
    made = [
        {"model": "m", "layer": 0, "head": at, "score": "s", **dict(zip(schema, four, strict=True)), "part": "encoder"}
        for at, four in enumerate(numbers.values())
    ]
    return pl.DataFrame(made, schema_overrides=schema)


@pytest.mark.parametrize("shape", [ENCODER, LARGE], ids=lambda shape: shape.model)
def test_a_page_is_under_three_megabytes(shape: Shape):
    assert len(text(shape).encode()) < 3_000_000


def test_the_numbers_are_in_the_page_once():
    value = run(ENCODER)[0]["value"][0]
    assert text(ENCODER).count(f"[{float(f'{value:.4g}')},") == 1


def test_the_drawing_library_is_bundled_once_and_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole, bundled = text(ONE), []
    bundle = vl_convert.javascript_bundle
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: bundled.append(snippet) or bundle(snippet))

    def rendered() -> str:
        _library.cache_clear()  # as in another process
        return render(page(ONE))

    assert [rendered(), rendered()] == [whole, whole] and len(bundled) == 1
    (kept,) = tmp_path.rglob("*.json")
    for damaged in ("", kept.read_text()[:1000], "[]"):
        kept.write_text(damaged)
        assert rendered() == whole
    assert len(bundled) == 4, "what cannot be read is made again"


def test_the_same_tables_give_the_same_bytes_in_another_process_without_torch():
    script = (
        "import random, sys, hashlib; from synthetic import BOTH, run_of; from dict_manifests import page_of_heads;"
        "from wherewhat.report.core.render import render;"
        "heads, offsets, frequencies, manifest = run_of(BOTH, random.Random(0));"
        "made = render(page_of_heads(heads, offsets, frequencies, manifest | {'scores': {}}));"
        "assert not {'torch', 'transformers', 'numpy'} & set(sys.modules), 'the report needs no tensors';"
        "print(hashlib.sha256(made.encode()).hexdigest())"
    )
    heads, offsets, frequencies, manifest = run(BOTH)
    made = render(
        page_of_heads(heads, offsets, frequencies, manifest | {"scores": {}})
    )  # then only sorting keeps their order
    ours = hashlib.sha256(made.encode()).hexdigest()
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parent)}
    theirs = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert theirs.stdout.strip() == ours


def test_nothing_is_loaded_from_outside():
    reader = Reader(text(ENCODER))
    assert not [name for name, _ in reader.elements if name in {"link", "iframe", "object", "embed", "base"}]
    for name, attributes in reader.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#"), (name, attributes)
    style = "".join(reader.styles)
    assert "@import" not in style
    assert "url(" not in style
    own = "".join(script.read_text() for script in ASSETS.glob("*.js"))
    assert "widgets.plane" in own
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|https?://(?!www\.w3\.org/2000/svg)", own)
    assert '"url"' not in json.dumps(page(ENCODER).charts)


def test_the_policy_names_each_script_and_style_by_its_hash():
    reader = Reader(text(ENCODER))
    policy = next(a["content"] or "" for n, a in reader.elements if n == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for inside in [*reader.scripts[1:], *reader.styles]:
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_no_script_of_ours_writes_markup():
    for asset in ASSETS.glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", asset.read_text()), (
            asset
        )


def hostile() -> Run:
    """A run all of whose strings try to become markup."""
    heads, offsets, frequencies, manifest = run_of(DECODER, random.Random(0))
    told = {HOSTILE: manifest["scores"]["locality"], **manifest["scores"]}
    told[HOSTILE] = dict.fromkeys(("asks", "low", "high", "paper", "chance"), HOSTILE) | {"range": [0, 1]}
    heads = heads.with_columns(
        pl.lit(HOSTILE).alias("model"),
        pl.when(pl.col("score") == "locality").then(pl.lit(HOSTILE)).otherwise("score").alias("score"),
        pl.when(pl.col("layer") == 1).then(pl.lit(HOSTILE)).otherwise("part").alias("part"),
    )
    texts = manifest["texts"] | {"source": HOSTILE, "example": [{"tokens": [HOSTILE, '"', "", "a\nb", "\ud800", "\0"]}]}
    said = {"model": manifest["model"] | {"id": HOSTILE}, "texts": texts, "scores": told, "command": HOSTILE}
    return heads, offsets, frequencies, manifest | said | {"notes": [HOSTILE], "settings": {HOSTILE: HOSTILE}}


def test_no_string_becomes_markup():
    written = render(page_of_heads(*hostile()))
    reader = Reader(written)
    kinds = [attributes.get("type") for name, attributes in reader.elements if name == "script"]
    assert kinds == ["application/json", None, None]
    assert not [name for name, _ in reader.elements if name == "img"]
    assert not [a for _, attributes in reader.elements for a in attributes if a.startswith("on")]
    assert "".join(reader.words).count(HOSTILE) > 8
    assert data_of(written)["about"]["scores"][0]["name"] == HOSTILE
    assert written.encode()  # a lone surrogate would not do
    assert [name for name, _ in Reader(inline(page_of_heads(*hostile()))).elements] == [
        "figure",
        "img",
        "figcaption",
        "b",
    ]


def test_json_cannot_end_its_element():
    value = {"a": [HOSTILE, 1.0, float("nan"), 0.123456, None]}
    written = json_in_html(value)
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"a": [HOSTILE, 1, None, 0.1235, None]}


def test_a_score_that_no_row_could_answer_is_said_and_not_drawn():
    about = data_of(text(DECODER))["about"]
    silent = {score["name"] for score in about["scores"] if not score["answered"]}
    assert silent == {"next", "symmetry", "balance"}
    named = "<code>symmetry</code>, <code>balance</code> and <code>next</code>"
    assert f"{named} have no value: a causal mask hides the keys to the right of a query." in text(DECODER)
    assert not silent & {name.removeprefix("map_") for name in page(DECODER).figures}
    assert about["y"] == "3"  # entropy, the next that has values


def test_nan_is_nothing():
    heads = rows(a=(float("nan"), None, None, 0.1), b=(0.5, 0.4, 0.6, 0.1))
    assert read_head_table(heads, {}).heads["value_0"] == [None, 0.5]


def test_parts_keep_their_order_and_are_told_apart():
    made = data_of(text(BOTH))
    assert made["about"]["parts"] == ["encoder", "decoder", "cross"]
    shape = next(
        layer["encoding"]["shape"] for layer in made["charts"]["plane"]["layer"] if "shape" in layer["encoding"]
    )
    assert shape["scale"]["domain"] == ["encoder", "decoder", "cross"]
    assert len(set(shape["scale"]["range"])) == 3
    assert made["tables"]["heads"]["name"][-1] == "cross L5H7"


def test_a_table_without_parts_takes_them_from_the_manifest():
    heads, offsets, frequencies, manifest = run(BOTH)
    without = page_of_heads(heads.drop("part"), offsets, frequencies, manifest)
    assert without.tables["heads"]["part"] == page(BOTH).tables["heads"]["part"]


def test_one_head_alone_has_a_page_too():
    made = data_of(text(ONE))
    assert made["about"]["selected"] == "L0H0"
    low, high = made["about"]["scores"][0]["span"]
    assert low < high
    assert "the only head of this model" in text(ONE)


def test_an_axis_is_never_a_single_point():
    low, high = read_head_table(rows(a=(0.5, None, None, 0.5)), {}).scores[0].span
    assert low < 0.5 < high


def test_a_manifest_that_says_nothing_is_enough():
    heads, offsets, frequencies, _ = run(DECODER)
    assert "a model" in render(page_of_heads(heads, offsets, frequencies, {}))
    assert "How this was made" in render(
        page_of_heads(heads, offsets.clear(), frequencies, {"model": None, "texts": {}})
    )


def test_the_manifest_is_told():
    for said in (
        "wherewhat heads bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
        "1 min 23 s",
        "1.4 GB",
    ):
        assert said in text(ENCODER)


def test_striking_heads_are_the_farthest_whose_interval_is_clear():
    clear, unsure = (0.6, 0.55, 0.65, 0.1), (0.9, 0.05, 1.0, 0.1)
    found = notable_heads(read_head_table(rows(a=(0.3, 0.2, 0.4, 0.1), b=clear, c=unsure), {}))
    assert [(notice.name, notice.above) for notice in found] == [("L0H1", True)]


def test_where_chance_is_high_a_low_value_is_striking():
    found = notable_heads(read_head_table(rows(a=(1.0, 1.0, 1.0, 0.97), b=(0.2, 0.1, 0.3, 0.97)), {}))
    assert [(notice.name, notice.above) for notice in found] == [("L0H1", False)]


def test_a_head_sure_but_near_chance_is_not_striking():
    assert notable_heads(read_head_table(rows(a=(0.12, 0.11, 0.13, 0.1)), {})) == []


def test_a_head_is_told_by_what_it_does_much_of():
    much, little = rows(a=(0.6, 0.5, 0.7, 0.1)), rows(a=(0.1, 0.0, 0.2, 1.0)).with_columns(score=pl.lit("spread"))
    found = notable_heads(read_head_table(pl.concat([much, little]), {}))
    assert [(notice.score.name, tuple(notice.also)) for notice in found] == [("s", (("spread", False),))]


def test_the_first_head_shown_has_a_profile_if_any_striking_one_has():
    assert notable_heads(read_head_table(run(BOTH)[0], run(BOTH)[3]))[0].part == "cross"
    assert page(BOTH).about["selected"] in page(BOTH).tables["offsets"]


def test_each_striking_head_is_told_once_with_all_it_leads():
    found = notable_heads(read_head_table(run(ENCODER)[0], run(ENCODER)[3]))
    names = [notice.name for notice in found]
    assert len(names) == len(set(names)) <= 6
    assert any(notice.also for notice in found)


@pytest.mark.parametrize("ends", [(-511, 511), (-8191, 0), (-95, 0), (-20, 20), (0, 0), (-3, 4000), (-63, 63), (5, 90)])
def test_bins_hold_every_offset_once(ends: tuple[int, int]):
    cut = bins(*ends)
    covered = [offset for one in cut for offset in range(one.first, one.last + 1)]
    assert covered == list(range(ends[0], ends[1] + 1))
    assert len(cut) <= 64
    assert [one.place for one in cut] == sorted({one.place for one in cut})
    assert all(one.first == one.last for one in cut if abs(one.place) <= 16)


def test_a_profile_is_exact_near_and_a_mean_far():
    places = range(-200, 1)
    table = pl.DataFrame(
        {"layer": 0, "head": 0, "offset": list(places), "mass": [abs(offset) / 1000 for offset in places]}
    )
    columns = profiles(table, ["L0H0", "L9H9"])
    by_place = dict(
        zip(columns["place"], zip(columns["from"], columns["to"], columns["L0H0"], strict=True), strict=True)
    )
    assert by_place[-3] == (-3, -3, 0.003)
    first, last, mass = by_place[min(by_place)]
    assert mass == pytest.approx(-(first + last) / 2000, rel=1e-3)
    assert "L9H9" not in columns
    assert columns["all"] == columns["L0H0"]


def test_pictures_are_drawn_of_the_plane_each_score_and_the_striking_heads():
    made = figures(page(DECODER))
    assert {name.split("_")[0] for name in made} == {"plane", "map", "offsets"}
    assert all(picture.startswith(b"\x89PNG") and len(picture) > 5000 for picture in made.values())
    assert "map_locality" in made


def test_a_picture_has_a_file_name_that_stays_in_its_folder():
    heads, offsets, frequencies, manifest = run(DECODER)
    odd = heads.with_columns(score=pl.col("score").replace("locality", "../../etc/x y"))
    assert "map_______etc_x_y" in page_of_heads(odd, offsets, frequencies, manifest).figures


def test_a_notebook_gets_a_picture_without_a_script():
    fragment = inline(page(ENCODER))
    assert fragment.startswith('<figure><img src="data:image/svg+xml;base64,')
    assert "<script" not in fragment
    assert len(fragment) < 200_000


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda t: t.drop("chance"), "the table of heads lacks chance; make it again with `wherewhat heads`"),
        (lambda t: t.clear(), "none of the 0 rows of the table of heads has a value; profile more or longer texts"),
        (lambda t: pl.concat([t, t]), "the table of heads has two rows for one head and score"),
        (
            lambda t: pl.concat([t, t.with_columns(model=pl.lit("other"))]),
            "a page of heads shows one model, but the table holds several (other, stories-small); keep the rows of one",
        ),
    ],
    ids=["column", "empty", "twice", "models"],
)
def test_a_table_that_cannot_be_shown_is_refused_in_a_sentence(spoil: Any, sentence: str):
    heads, offsets, frequencies, manifest = run(DECODER)
    with pytest.raises(UserError, match=re.escape(sentence)):
        page_of_heads(spoil(heads), offsets, frequencies, manifest)
