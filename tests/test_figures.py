"""Every figure that README and docs state is on record, or is computed here."""

import importlib.util
import json
import re
import sys
import tomllib
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "figures.py")
figures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(figures)
sys.modules.setdefault("figures", figures)  # which record.py imports
OF_RECORDS = importlib.util.spec_from_file_location("recording", ROOT / "docs" / "record.py")
recording = importlib.util.module_from_spec(OF_RECORDS)
OF_RECORDS.loader.exec_module(recording)

RECORDS = sorted(path.stem for path in figures.RECORDS.glob("*.json"))
WITH_CLAIMS = ["attribution", "canonical", "counting", "latin-square", "length", "row-sums", "speech"]
PAGES = {path.name: path.read_text() for path in figures.PAGES}
# What looks like a result: decimals, percentages, ratios. Whole numbers alone are mostly settings.
RESULT = re.compile(r"(?<![\w.,^/])[−-]?\d+(?:,\d{3})*\.\d+(?![\w/.])|\d+ %|[\d.,]+ ×")
GENERATED = re.compile(r"<!-- (\w+) -->\n.*?<!-- /\1 -->", re.DOTALL)
NO_RESULTS = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|arXiv [\d.]+|Python 3\.\d+|Apache-2\.0|95 %", re.DOTALL)
# What is no record's: settings, and what a test below computes.
SETTINGS = {"README.md": ["5.21"], "cause.md": ["15 %", "15 %"], "locality.md": ["0.64", "0.77", "0.38", "0.1"]}
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_is_on_record(name: str):
    assert figures.filled(PAGES[name]) == PAGES[name], "run `make docs`"


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_says_how_it_was_made_and_all_of_it_is_told(name: str):
    record = figures.record(name)
    assert record["command"].startswith(("wherewhat ", "make ")) and record["source"]
    assert date.fromisoformat(record["date"]) <= date.today()
    pages = "".join(PAGES.values())
    for part in record.get("figures", {}):
        assert pages.count(f"<!-- figures: {name}.{part} -->") == 1
    for table in record.get("tables", {}):
        assert pages.count(f"<!-- table: {name}.{table} -->") == 1


@pytest.mark.parametrize("name", PAGES)
def test_results_outside_the_records_are_known(name: str):
    rest = figures.TABLE.sub("", figures.PROSE.sub("", PAGES[name]))
    rest = NO_RESULTS.sub("", GENERATED.sub("", rest))
    assert RESULT.findall(rest) == SETTINGS.get(name, []), "put it on record in docs/figures, or check it here"


def test_a_page_with_another_number_or_one_too_many_is_noticed():
    page = "<!-- figures: speed.settings -->n = 1,000, `--queries 64`<!-- /figures -->"
    assert figures.filled(page) == "<!-- figures: speed.settings -->n = 8,192, `--queries 64`<!-- /figures -->"
    with pytest.raises(ValueError, match="the prose has"):
        figures.filled(page.replace("1,000", "1,000 or 2"))


@pytest.mark.parametrize("name", WITH_CLAIMS)
def test_verdicts_are_those_of_the_recorded_claims(name: str):
    from wherewhat.studies.registry import STUDIES

    record = figures.record(name)
    if "published" in record["figures"]["verdicts"]:  # counted apart from what was never published
        published = {claim.text: claim.published for claim in STUDIES[name].claims.values()}
        rows = [{"published": published[text], "verdict": verdict} for text, verdict in record["claims"].items()]
        assert record["figures"]["verdicts"] == recording.counted_apart({"claims": rows})
        return
    counted = {verdict: str(number) for verdict, number in Counter(record["claims"].values()).items()}
    told = {verdict: number for verdict, number in record["figures"]["verdicts"].items() if number != "0"}
    assert told == {"claims": str(len(record["claims"])), **counted}


def test_verdicts_on_what_was_never_published_are_counted_apart():
    verdicts = {"10 %": ["agrees", "in part", "unknown", "agrees"], "unknown: not tried": ["in part", "not seen"]}
    rows = [{"published": side, "verdict": verdict} for side, its in verdicts.items() for verdict in its]
    assert list(recording.counted_apart({"claims": rows}).items()) == [
        *[("published", "4"), ("agrees", "2"), ("in part", "1"), ("disagrees", "0"), ("unknown", "1")],
        *[("unpublished", "2"), ("seen", "0"), ("seen in part", "1"), ("not seen", "1"), ("unpublished, unknown", "0")],
    ]
    with pytest.raises(ValueError, match="unpublished claims cannot have the verdict agrees"):
        recording.counted_apart({"claims": [{"published": "unknown", "verdict": "agrees"}]})


@pytest.mark.parametrize("name", WITH_CLAIMS)
def test_recorded_claims_are_those_of_the_study(name: str):
    """A claim that has been reworded since may have another test by now: run the study again."""
    from wherewhat.studies.registry import STUDIES

    assert set(figures.record(name)["claims"]) == {claim.text for claim in STUDIES[name].claims.values()}


def test_the_readme_takes_its_ratios_from_the_table_of_speed():
    record = figures.record("speed")
    table = {number for row in record["tables"]["ratios"] for cell in row for number in figures.numbers(cell)}
    told = record["figures"]["readme"].values()
    assert {number for value in told for number in ([value] if isinstance(value, str) else value)} <= table


def test_counts_are_those_of_the_registries():
    from wherewhat.encodings.base import Encoding
    from wherewhat.encodings.registry import ENCODINGS
    from wherewhat.models.folder import load_model
    from wherewhat.models.registry import MODELS
    from wherewhat.nets.config import NetConfig
    from wherewhat.studies.locality.settings import QUESTIONS

    readme, locality = PAGES["README.md"], PAGES["locality.md"]
    hooks = ("on_tokens", "observe", "on_query_key", "attend", "bias", "on_logits", "on_attention")
    assert all(callable(getattr(Encoding, hook)) for hook in hooks)
    for page in (readme, PAGES["encodings.md"]):
        assert f"{WORDS[len(hooks)]} hooks" in page
    back = sum(record.direction == "causal only" for record in ENCODINGS.values())
    assert f"({WORDS[back]} are causal and fit the decoder only)" in readme
    tiny: NetConfig = load_model(MODELS["tiny"].folder).net.config
    assert f"{tiny.layers} layers of {tiny.heads} rotary heads" in readme.replace("\n", " ")
    assert f"{WORDS[len(QUESTIONS)].capitalize()} questions are built in" in locality
    assert f"## {WORDS[len(re.findall(r'^# [0-9]+[.] ', readme, re.MULTILINE))].capitalize()} things to try" in readme


def test_the_oldest_transformers_is_the_one_of_the_metadata():
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"transformers>={SETTINGS['README.md'][0]}" in needs


def test_masked_tokens_are_as_many_as_the_page_says():
    from wherewhat.editing.abilities import HIDDEN

    assert f"{HIDDEN:.0%}".replace("%", " %") == SETTINGS["cause.md"][0]


def test_published_symmetry_of_noise_and_of_a_disturbance_is_what_the_page_says():
    import torch

    from wherewhat.scores.positional_part import both_ways, measures

    n, (flat, random, disturbed, _) = 64, map(float, SETTINGS["locality.md"])
    logits_HTT = torch.randn(50, n, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for spread, stated in ((0.01, flat), (1, random)):
        measured = measures((spread * logits_HTT).softmax(-1), both_ways(n))["symmetry"].mean()
        assert measured.item() == pytest.approx(stated, abs=0.01)
    known = json.loads((ROOT / "tests" / "vectors" / "locality_symmetry.json").read_text())["discontinuity"]["values"]
    assert next(one["sym_published"] for one in known if one["eps"] == 1e-9) == pytest.approx(disturbed, abs=0.005)
