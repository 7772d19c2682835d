"""`wherewhat reproduce control`: does each frequency band matter in the heads where it should, beyond controls?"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
from torch import nn

from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.capture.loading.load import LoadedModel, wrap_module
from wherewhat.capture.outputs.language_model import body, generate_texts, load_language_model
from wherewhat.capture.tokens.encode import OWN, EncodedTexts
from wherewhat.editing.abilities import Ability, ability_tests, measure_ability
from wherewhat.errors import UserError
from wherewhat.formatting import count
from wherewhat.profiling.describe import model_section, texts_section
from wherewhat.profiling.inputs import encode_texts
from wherewhat.profiling.profile import profile
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.runs.registry import Profile
from wherewhat.studies.base import Request, StudyResult
from wherewhat.studies.control.claims import SPEED, claims, comparisons
from wherewhat.studies.control.compare import compare_cells
from wherewhat.studies.control.contrast import Term, contrast, level, measures_of
from wherewhat.studies.control.correlate import BEHAVIOUR, MEAN, Correlations, by_head, correlations
from wherewhat.studies.control.frequency_norms import FrequencyNorms, read_norms
from wherewhat.studies.control.head_selection import HeadSelection, Shares, select_heads
from wherewhat.studies.control.interventions import CellResult, InterventionSetup, cells, measure_cell
from wherewhat.studies.control.redrawn_weights import with_redrawn_weights
from wherewhat.studies.control.result_table import ControlFindings, result_table
from wherewhat.studies.control.settings import EQUAL, FEWEST, KINDS, NEAR, OPERATIONS, SCALES, SIDES, ControlSettings

SCORES = (*BEHAVIOUR, "interaction_share", MEAN, "entropy", "logit_variance")
LEAST_PAIRS = 2
GENERATED = 64  # texts that a model generates at most
GENERATED_NOTE = (
    "No texts were given, so the model generated them; on these, the rise of the loss estimates the Kullback-Leibler "
    "divergence of the changed model from the original one."
)
NOT_CORRECTED = (
    "Intervals resample texts; those of the excess over controls are Student's, over texts and draws. Each is a 95 % "
    "interval without a correction for multiple comparisons, and treats heads and draws as independent, although heads "
    "of one layer and overlapping draws are not. The causal verdicts rest on {count} comparisons; where there is no "
    "effect, about one in forty would look clear by chance."
)
FEW_COPIES = (
    "The model copies hardly any random token exactly, so copying is judged by induction: by how many nats per token "
    "repeated random tokens are easier to predict than new ones."
)


def control(request: Request) -> StudyResult:
    """Drop and unrotate fast and slow bands in positional and in symbolic heads, and compare with matched controls."""
    model = _model(request)
    settings, layers = _settings(request), _rotary_layers(model)
    encoded, source, notes = _texts(model, request, settings)
    profiled = _profile(model, encoded, request, source)
    shares = _shares(profiled.heads)
    norms = read_norms(profiled.frequencies, list(shares), _pairs(layers))
    selection = select_heads({name: shares[name] for name in norms.names}, settings)
    settings = replace(settings, shares=_band_sizes(settings.shares, norms))
    tests = ability_tests(model, encoded, random=settings.random, half=settings.half, seed=request.seed)
    setup = InterventionSetup(model, layers, tests, norms)
    findings = _measure(setup, profiled, selection, settings, request)
    copying = _copying_measure(findings.before, settings)
    return StudyResult(
        result=result_table(findings),
        claims=claims((findings.trained, findings.redrawn), findings.effects, copying),
        settings={**asdict(settings), "near": NEAR, "fewest": FEWEST, "seed": request.seed, "heads": selection.rule},
        notes=(*_notes(findings, copying, request.scale), *notes),
        about=_about(model, encoded, source, findings, copying),
    )


def _measure(
    setup: InterventionSetup, profiled: Profile, selection: HeadSelection, settings: ControlSettings, request: Request
) -> ControlFindings:
    """Measure every cell and every control, and compare them."""
    share, seed = settings.shares[0], request.seed
    before = measure_ability(setup.model, setup.tests)
    results = _measure_cells(setup, selection, settings, request)
    heads = by_head(profiled.heads, setup.norms, share)
    four = len(KINDS) * len(SIDES)  # cells of one operation and one band size follow each other
    return ControlFindings(
        heads=heads,
        selection=selection,
        share=share,
        trained=correlations(profiled.frequencies, heads, share, seed=seed),
        redrawn=_redrawn_correlations(setup, share, request),
        before=before,
        cells=results,
        effects=[
            compare_cells(results[first : first + four], before, seed=seed) for first in range(0, len(results), four)
        ],
        seed=seed,
    )


def _settings(request: Request) -> ControlSettings:
    """The settings of the scale; the requested number of seeds is the number of draws of each kind of control."""
    settings = request.of(SCALES)
    return settings if request.seeds is None else replace(settings, controls=request.seeds)


def _model(request: Request) -> LoadedModel:
    if isinstance(request.model, str):
        return load_language_model(request.model, request.loading)
    return wrap_module(request.model) if isinstance(request.model, nn.Module) else request.model


def _rotary_layers(model: LoadedModel) -> tuple[Layer, ...]:
    """The layers of a model with rotary frequencies; any other model is refused."""
    layers = survey(model.module)
    pairs = _pairs(layers).values()
    if not pairs:
        raise UserError(
            f"{model.id} has no rotary frequencies, so there are no bands to compare; name a model with rotary "
            "positions"
        )
    if min(pairs) < LEAST_PAIRS:
        raise UserError(
            f"{model.id} has {min(pairs)} rotary frequency per head; a fast and a slow band need at least "
            f"{LEAST_PAIRS}, so name another model"
        )
    return layers


def _pairs(layers: Sequence[Layer]) -> dict[int, int]:
    """The number of rotated pairs, by layer; layers without any are left out."""
    return {layer.number: len(layer.theta_F) for layer in layers if layer.theta_F is not None}


def _texts(model: LoadedModel, request: Request, settings: ControlSettings) -> tuple[EncodedTexts, str, list[str]]:
    """Texts, their source, and notes: given texts, those of a net's own task, or texts that the model generates."""
    tokens = min(settings.max_tokens, model.context or settings.max_tokens)
    if request.texts is not None:
        encoded = encode_texts(
            model,
            request.texts,
            ProfileSettings(max_texts=settings.max_texts, max_tokens=tokens, seed=request.seed),
        )
        if encoded.texts < 2:
            raise UserError("there is one text, and intervals resample texts; give --text FILE with at least two")
        return encoded, request.source, encoded.notes
    if model.task is not None or model.corpus is not None:
        own = encode_texts(model, None, ProfileSettings(max_texts=settings.answers, seed=request.seed))
        return own, OWN, []
    return (
        EncodedTexts.of(generate_texts(model, min(settings.max_texts, GENERATED), tokens, seed=request.seed)),
        "written by the model",
        [GENERATED_NOTE],
    )


def _redrawn_correlations(setup: InterventionSetup, share: float, request: Request) -> Correlations:
    """The correlations of the same model with redrawn weights, on the same texts."""
    model = with_redrawn_weights(body(setup.model), seed=request.seed)
    profiled = _profile(model, setup.tests.encoded, request, "the same")
    norms = read_norms(profiled.frequencies, setup.norms.names, _pairs(setup.layers))
    return correlations(profiled.frequencies, by_head(profiled.heads, norms, share), share, seed=request.seed)


def _profile(model: LoadedModel, encoded: EncodedTexts, request: Request, source: str) -> Profile:
    """The scores and frequencies of every head, on the texts that the interventions are measured on."""
    return profile(
        body(model),
        encoded,
        source=source,
        on_step=request.step,
        seed=request.seed,
        scores=SCORES,
        untrained=False,
    )


def _shares(heads: pl.DataFrame) -> Shares:
    """Position share and symbol share of every head that has both, in model order."""
    wide = heads.pivot("score", index=["layer", "head"], values="value").sort("layer", "head")
    if not {"position_share", "symbol_share"} <= set(wide.columns):
        return {}
    known = wide.drop_nulls(["position_share", "symbol_share"]).iter_rows(named=True)
    return {f"L{row['layer']}H{row['head']}": (row["position_share"], row["symbol_share"]) for row in known}


def _band_sizes(shares: Sequence[float], norms: FrequencyNorms) -> tuple[float, ...]:
    """Band sizes that contain at least one pair of every head; sizes that are too small become a half."""
    fewest = int(np.isfinite(norms.theta_HF).sum(1).min())
    return tuple(dict.fromkeys(share if int(share * fewest) else 0.5 for share in shares))


def _measure_cells(
    setup: InterventionSetup, selection: HeadSelection, settings: ControlSettings, request: Request
) -> list[CellResult]:
    planned = [
        cell
        for share in settings.shares
        for cell in cells(setup.norms, selection, share, controls=settings.controls, seed=request.seed)
    ]
    total = len(OPERATIONS) * sum(1 + sum(map(len, cell.controls.values())) for cell in planned)
    done = iter(range(1, total + 1))
    return [
        measure_cell(setup, cell, operation, lambda: request.step(next(done), total, "interventions"))
        for operation in OPERATIONS
        for cell in planned
    ]


def _copying_measure(before: Ability, settings: ControlSettings) -> str | None:
    """What copying is judged by: exact copies if there are enough, else induction if there is any."""
    if "copy" not in measures_of(before):
        return None
    if level(before, "copy") >= settings.copies:
        return "copy"
    induction = contrast([Term(1, before)], "induction", seed=0)
    return "induction" if induction.low > 0 else None


def _about(
    model: LoadedModel, encoded: EncodedTexts, source: str, findings: ControlFindings, copying: str | None
) -> dict[str, Any]:
    heads, layers = findings.heads.height, findings.heads["layer"].n_unique()
    return {
        "model": model_section(model, layers=layers, heads=heads),
        "texts": texts_section(model, encoded, source),
        "chosen": {kind: list(findings.selection.of(kind)) for kind in KINDS},
        "rule": findings.selection.rule,
        "pure": findings.selection.pure,
        "share": findings.share,
        "shares": sorted({effects.share for effects in findings.effects}),
        "copying": copying,
    }


def _notes(findings: ControlFindings, copying: str | None, scale: str) -> list[str]:
    """What a reader must know to read the result correctly."""
    notes = ["Apart from the first claim nothing of this was published, so there are no published numbers to match."]
    if scale == "paper":
        notes.append("There is no paper to follow, so this scale is `small` with all texts.")
    if not findings.selection.pure:
        notes.append("Heads were selected by rank: too few of one kind have more than half of their variance there.")
    notes += _control_notes(findings)
    notes.append(NOT_CORRECTED.format(count=comparisons(copying) * len(findings.effects)))
    if copying == "induction":
        notes.append(FEW_COPIES)
    return notes


def _control_notes(findings: ControlFindings) -> list[str]:
    """Which controls have unequal norms, are too few, or differ in their number of pairs; once for both operations."""
    notes = []
    for cell in (result.cell for result in findings.cells):
        for control, masks in cell.controls.items():
            target = f"the {SPEED[cell.side]} band ({cell.share:g}) of {cell.kind} heads"
            ratio, pairs = masks[0].norm / cell.mask.norm, sorted(mask.pairs for mask in masks)
            if cell.norm_match(control) != EQUAL:
                notes.append(f"No {control} have the norm of {target}: the nearest has {ratio:.2f} times its norm.")
            elif len(masks) < FEWEST:
                notes.append(
                    f"For {target}, only {count(len(masks), 'draw')} of {control} had an equal norm, too few for a "
                    "verdict."
                )
            elif {pairs[0], pairs[-1]} != {cell.mask.pairs}:
                fewest, most = f"{pairs[0]} to " if pairs[0] < pairs[-1] else "", count(pairs[-1], "pair")
                notes.append(
                    f"To match the norm of {target}, {control} change {fewest}{most} instead of {cell.mask.pairs}."
                )
    return list(dict.fromkeys(notes))
