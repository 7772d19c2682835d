"""Typical calls of the public API. mypy checks them in strict mode; nothing here is run."""

import polars as pl
from torch import nn

import wherewhat as ww


def profiles(model: nn.Module) -> pl.DataFrame:
    profile = ww.profile("tiny", ["some text"], queries=64, seed=0, scores=("locality",), hidden=False)
    positional, random = ww.PositionalSettings(length=16), ww.RepeatedSettings(sequences=10)
    settings = ww.ProfileSettings(max_texts=10, positional=positional, random=random)
    profile = ww.profile(model, settings=settings, loading=ww.LoadSettings(dtype="float64"), progress=True)
    parameters: int | None = profile.manifest.model.parameters
    question: str = ww.SCORES["locality"].asks
    assert parameters and question and profile.save("runs/a").exists()
    return profile.heads


def comparisons() -> pl.DataFrame:
    comparison = ww.compare(["runs/a", "runs/b"], similar=True)
    comparison = ww.compare(["tiny"], untrained=2, max_texts=10, positional=True)
    return comparison.compare


def edits(model: nn.Module) -> pl.DataFrame:
    with ww.edit(model, unrotate=["high:0.25"], heads=["L3H7"]):
        model.eval()
    effect = ww.measure_edit("tiny", None, ww.Edit(drop=("low:0.5",)), each="head", max_texts=5, seed=1)
    return effect.edit


def probes() -> list[str]:
    words = ww.probe("words", "runs/nli", sizes=("3", "whole"), max_sentences=50)
    dependencies = ww.probe("dependencies", "runs/bert", ["en.conllu"], permutations=4, seed=1)
    assert words.probe.height and dependencies.manifest.model.id
    return list(ww.PROBES)


def attributions(model: nn.Module) -> pl.DataFrame:
    attribution = ww.attribute(
        model, ("a premise", "a hypothesis"), target="label", method="attnlrp", aggregate="signed"
    )
    best: float = float(attribution.scores_T.max())
    kept: float = ww.check_attribution("tiny", [1, 2, 3]).softmax
    settings = ww.AttributionSettings(targets=("next", 7), methods=("pa-lrp",), max_texts=2)
    run = ww.attribute_texts("tiny", ["some text"], settings, loading=ww.LoadSettings(dtype="float64"), progress=True)
    assert best and kept and attribution.heads.height and run.manifest.outputs[0].name and run.findings
    return run.relevance


def studies() -> list[str]:
    run = ww.reproduce("locality", scale="tiny", seed=0)
    return [claim.verdict for claim in run.manifest.claims] + list(ww.STUDIES)


def training() -> pl.DataFrame:
    rope: nn.Module = ww.encoding("rope", head_dim=64)
    assert rope is not None and "tiny" in ww.MODELS and "rope" in ww.ENCODINGS and "index" in ww.TASKS
    return ww.train(ww.recipe("tiny"), out="runs/tiny").curve
