"""The typed manifest: what is written comes back, and what does not fit is named in one sentence."""

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from wherewhat.errors import UserError
from wherewhat.tables.manifest.decode import MisfitError, decode, encode
from wherewhat.tables.manifest.io import MANIFESTS, manifest_bytes, manifest_of, read_manifest
from wherewhat.tables.manifest.scores import CorrespondenceSection, ProfileManifest, SimilarModels, UntrainedSection
from wherewhat.tables.manifest.sections import SCHEMA, LayerSection, Manifest, ModelSection, ScoreSection, TextsSection
from wherewhat.tables.manifest.study import SECTIONS, CanonicalSection, study_section

REQUIRED: dict[str, dict[str, Any]] = {"probe": {"probe": "words"}, "reproduce": {"reproduction": "canonical"}}
WRITTEN = ProfileManifest(
    seed=3,
    seconds=1.5,
    versions={"python": "3.11", "torch": None},
    settings={"tau": ["inf", 1], "blocks": None},
    notes=("A note.",),
    model=ModelSection(id="tiny", layers=2, config={"width": 64}),
    texts=TextsSection(source="letters", count=20),
    layers=(LayerSection(layer=0, part="decoder"), LayerSection(layer=1, logits="undecomposed", reason="a window")),
    untrained=UntrainedSection(windows=4, seed=0),
    scores={"entropy": ScoreSection(asks="How wide?", range=(0.0, None), sides=True)},
    correspondence=(CorrespondenceSection(y="positional", rho=-0.5),),
)


def saved(folder: Path, manifest: Manifest | dict[str, Any]) -> Path:
    raw = manifest_bytes(manifest) if isinstance(manifest, Manifest) else json.dumps(manifest).encode()
    (folder / "manifest.json").write_bytes(raw)
    return folder


def test_what_is_written_comes_back(tmp_path: Path):
    assert read_manifest(saved(tmp_path, WRITTEN)) == WRITTEN


def test_missing_values_are_null_and_lists_are_empty():
    plain = ProfileManifest().to_dict()
    assert plain["schema"] == SCHEMA and plain["kind"] == "heads"
    assert plain["positional"] is None and plain["layers"] == [] and plain["model"]["path"] is None


@pytest.mark.parametrize("kind", MANIFESTS)
def test_every_kind_has_defaults_for_all_but_its_name(kind: str, tmp_path: Path):
    manifest = manifest_of(kind, REQUIRED.get(kind, {}))
    assert manifest.kind == kind and read_manifest(saved(tmp_path, manifest)) == manifest


def test_a_study_has_a_section_of_its_own():
    raw = {"reproduction": "canonical", "about": {"bounds": {"index": 2.0}}}
    section = CanonicalSection(bounds={"index": 2.0})
    assert manifest_of("reproduce", raw).about == section == study_section("canonical", raw["about"])  # type: ignore[attr-defined]
    assert study_section("another", {"anything": 1}) == {"anything": 1}
    with pytest.raises(MisfitError, match="'about.bounds' is 7, not an object"):
        study_section("canonical", {"bounds": 7})
    assert {name: study_section(name, None) for name in SECTIONS} == {name: kind() for name, kind in SECTIONS.items()}


def test_fields_that_are_not_known_are_ignored(tmp_path: Path):
    raw = {**WRITTEN.to_dict(), "later": {"than": "this"}}
    assert read_manifest(saved(tmp_path, raw)) == WRITTEN


@pytest.mark.parametrize("field", ["match back", "one to one"])
def test_a_key_of_the_file_may_be_no_name_in_python(field: str):
    distance = {"value": 0.5}
    raw = {"model": "a", "against": "b", "by": "scores", "min": distance, "match": distance}
    raw |= {"match back": distance, "one to one": distance}
    assert encode(decode(SimilarModels, raw))[field] == {"value": 0.5, "low": None, "high": None}
    with pytest.raises(MisfitError, match=f"'{field}' is missing"):
        decode(SimilarModels, {name: value for name, value in raw.items() if name != field})


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({"schema": 1}, "has schema version 1, and this version of wherewhat reads version 2; run the command again"),
        ({"schema": None}, "has no schema version, and this version of wherewhat reads version 2; run the command"),
        ({"schema": "2"}, 'has schema version "2", and this version of wherewhat reads version 2;'),
        ({"schema": True}, "has schema version true, and"),
        ({"layers": [{"layer": 0}, {}]}, "cannot be used: 'layers[1].layer' is missing; run the command again"),
        ({"versions": {"torch": 2}}, "'versions.torch' is 2, not a text;"),
        ({"texts": []}, "'texts' is [], not an object;"),
        ({"scores": {"a": {"range": [0, 1, 2]}}}, "'scores.a.range' is [0, 1, 2], not a list of 2;"),
        ({"scores": {"a": {"sides": 1}}}, "'scores.a.sides' is 1, not true or false;"),
        ({"swaps": {"blocks": 7}}, "'swaps.blocks' is 7, not a text;"),
        ({"seed": 1.5}, "'seed' is 1.5, not a whole number;"),
        ({"kind": "dance"}, "holds a run of `wherewhat dance`, which has no report; name another folder"),
    ],
)
def test_what_does_not_fit_is_named(raw: dict[str, Any], sentence: str, tmp_path: Path):
    with pytest.raises(UserError) as error:
        read_manifest(saved(tmp_path, {**WRITTEN.to_dict(), **raw}))
    assert sentence in error.value.typed and "\n" not in error.value.typed


def test_manifests_are_frozen():
    for kind in MANIFESTS.values():
        assert (
            is_dataclass(kind)
            and kind.__dataclass_params__.frozen
            and {"schema", "kind"} <= {f.name for f in fields(kind)}
        )
    assert replace(WRITTEN, seed=4) != WRITTEN
