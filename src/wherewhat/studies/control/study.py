"""`wherewhat reproduce control`: does a band matter where it should? What each cell does, against equal controls."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
from torch import nn

from wherewhat.capture.editing.survey import Layer, survey
from wherewhat.capture.loading.load import LoadedModel, wrap_module
from wherewhat.capture.outputs.generate import written
from wherewhat.capture.outputs.language_model import body, find_speaking
from wherewhat.capture.tokens.encode import OWN, Encoded
from wherewhat.editing.abilities import Ability, ability, trial
from wherewhat.errors import UserError
from wherewhat.profiling.describe import about_model, about_texts
from wherewhat.profiling.profile import profile, read
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.report.numbers import count
from wherewhat.runs.profile import Profile
from wherewhat.studies.base import Found, Order
from wherewhat.studies.control.choose import Chosen, Shares, choose
from wherewhat.studies.control.claims import SPEED, claims, comparisons
from wherewhat.studies.control.compare import outcome
from wherewhat.studies.control.contrast import Term, contrast, level, measured
from wherewhat.studies.control.correlate import BEHAVIOUR, MEAN, Correlations, by_head, correlations
from wherewhat.studies.control.rows import Findings, result
from wherewhat.studies.control.settings import EQUAL, FEWEST, KINDS, NEAR, OPERATIONS, SCALES, SIDES, Settings
from wherewhat.studies.control.trying import Bench, Tried, cells, tried
from wherewhat.studies.control.unlearnt import unlearnt
from wherewhat.studies.control.use import Use, use

SCORES = (*BEHAVIOUR, "interaction_share", MEAN, "entropy", "logit_variance")
LEAST_PAIRS = 2
WRITTEN = 64  # texts that a model writes at the most
OWN_HAND = (
    "No texts were given, so the model wrote them itself; on these the rise of the loss says how far the changed model "
    "has moved from what it was (it estimates a Kullback-Leibler divergence)."
)
NOT_CORRECTED = (
    "Intervals resample texts; against controls they are Student's, over texts and over draws. Each is a 95 % one by "
    "itself and as if heads and draws were independent, which heads of one layer and draws that overlap are not. The "
    "verdicts on causes rest on {count} comparisons; of those with nothing in them, about one in forty would look "
    "clear by chance."
)
FEW_COPIES = (
    "The model copies hardly any random token exactly, so copying is judged by induction: the nats a token by which "
    "random tokens are easier to predict the second time."
)


def control(order: Order) -> Found:
    """Drop and unrotate fast and slow bands in positional and in symbolic heads apart, against controls."""
    model = _subject(order)
    settings, layers = _asked(order), _turning(model)
    encoded, source, notes = _texts(model, order, settings)
    seen = _profiled(model, encoded, order, source)
    shares = _shares(seen.heads)
    used = use(seen.frequencies, list(shares), _pairs(layers))
    chosen = choose({name: shares[name] for name in used.names}, settings)
    settings = replace(settings, shares=_sizes(settings.shares, used))
    asked = trial(model, encoded, random=settings.random, half=settings.half, seed=order.seed)
    findings = _found_out(Bench(model, layers, asked, used), seen, chosen, settings, order)
    copying = _copying(findings.before, settings)
    return Found(
        result=result(findings),
        claims=claims((findings.learnt, findings.unlearnt), findings.outcomes, copying),
        settings={**asdict(settings), "near": NEAR, "fewest": FEWEST, "seed": order.seed, "heads": chosen.rule},
        notes=(*_notes(findings, copying, order.scale), *notes),
        about=_about(model, encoded, source, findings, copying),
    )


def _found_out(bench: Bench, seen: Profile, chosen: Chosen, settings: Settings, order: Order) -> Findings:
    """Try every cell and every control, and compare."""
    share, seed = settings.shares[0], order.seed
    before = ability(bench.model, bench.trial)
    found = _all_tried(bench, chosen, settings, order)
    table = by_head(seen.heads, bench.used, share)
    return Findings(
        table=table,
        chosen=chosen,
        share=share,
        learnt=correlations(seen.frequencies, table, share, seed=seed),
        unlearnt=_without(bench, share, order),
        before=before,
        tried=found,
        outcomes=[outcome(some, before, seed=seed) for some in _together(found)],
        seed=seed,
    )


def _asked(order: Order) -> Settings:
    """The settings of the scale; how many seeds is here how many draws of each kind of control."""
    settings = order.of(SCALES)
    return settings if order.seeds is None else replace(settings, controls=order.seeds)


def _subject(order: Order) -> LoadedModel:
    if isinstance(order.model, str):
        return find_speaking(order.model, order.loading)
    return wrap_module(order.model) if isinstance(order.model, nn.Module) else order.model


def _turning(model: LoadedModel) -> tuple[Layer, ...]:
    """The layers of a model that has rotary frequencies; any other is refused."""
    layers = survey(model.module)
    pairs = _pairs(layers).values()
    if not pairs:
        raise UserError(
            f"{model.id} has no rotary frequencies, so there are no bands to compare; name a model with rotary "
            "positions"
        )
    if min(pairs) < LEAST_PAIRS:
        raise UserError(
            f"{model.id} has {min(pairs)} rotary frequency a head; a fast and a slow band take at least {LEAST_PAIRS}"
        )
    return layers


def _pairs(layers: Sequence[Layer]) -> dict[int, int]:
    """How many pairs turn in each layer that turns."""
    return {layer.number: len(layer.theta_F) for layer in layers if layer.theta_F is not None}


def _texts(model: LoadedModel, order: Order, settings: Settings) -> tuple[Encoded, str, list[str]]:
    """Token ids, where they are from and what to say of them: given, a net's own, or of the model's own hand."""
    tokens = min(settings.max_tokens, model.context or settings.max_tokens)
    if order.texts is not None:
        asked = ProfileSettings(max_texts=settings.max_texts, max_tokens=tokens, seed=order.seed)
        encoded = read(model, order.texts, asked)
        return _several(encoded), order.source, encoded.notes
    if model.task is not None or model.corpus is not None:
        own = read(model, None, ProfileSettings(max_texts=settings.answers, seed=order.seed))
        return own, OWN, []
    return (
        Encoded.of(written(model, min(settings.max_texts, WRITTEN), tokens, seed=order.seed)),
        "written by the model",
        [OWN_HAND],
    )


def _several(encoded: Encoded) -> Encoded:
    if encoded.texts < 2:
        raise UserError("there is one text, and intervals go over texts; give --text FILE with at least two")
    return encoded


def _without(bench: Bench, share: float, order: Order) -> Correlations:
    """What goes with what where nothing was learnt, on the same texts."""
    seen = _profiled(unlearnt(body(bench.model), seed=order.seed), bench.trial.encoded, order, "the same")
    used = use(seen.frequencies, bench.used.names, _pairs(bench.layers))
    return correlations(seen.frequencies, by_head(seen.heads, used, share), share, seed=order.seed)


def _profiled(model: LoadedModel, encoded: Encoded, order: Order, source: str) -> Profile:
    """The scores and frequencies of every head, on the same texts that the model is tried on."""
    return profile(
        body(model),
        encoded,
        source=source,
        on_step=order.step,
        seed=order.seed,
        scores=SCORES,
        untrained=False,
    )


def _shares(heads: pl.DataFrame) -> Shares:
    """Position share and symbol share of every head that has both, in the order of heads."""
    wide = heads.pivot("score", index=["layer", "head"], values="value").sort("layer", "head")
    if not {"position_share", "symbol_share"} <= set(wide.columns):
        return {}
    known = wide.drop_nulls(["position_share", "symbol_share"]).iter_rows(named=True)
    return {f"L{row['layer']}H{row['head']}": (row["position_share"], row["symbol_share"]) for row in known}


def _sizes(shares: Sequence[float], used: Use) -> tuple[float, ...]:
    """Sizes of bands that hold at least one pair of every head; too small ones become halves."""
    fewest = int(np.isfinite(used.theta_HF).sum(1).min())
    return tuple(dict.fromkeys(share if int(share * fewest) else 0.5 for share in shares))


def _all_tried(bench: Bench, chosen: Chosen, settings: Settings, order: Order) -> list[Tried]:
    planned = [
        cell
        for share in settings.shares
        for cell in cells(bench.used, chosen, share, controls=settings.controls, seed=order.seed)
    ]
    of = len(OPERATIONS) * sum(1 + sum(map(len, cell.controls.values())) for cell in planned)
    done = iter(range(1, of + 1))
    return [
        tried(bench, cell, operation, lambda: order.step(next(done), of, "trying"))
        for operation in OPERATIONS
        for cell in planned
    ]


def _together(found: Sequence[Tried]) -> list[list[Tried]]:
    """Those of one operation and one size of band, four by four."""
    many = len(KINDS) * len(SIDES)
    return [list(found[first : first + many]) for first in range(0, len(found), many)]


def _copying(before: Ability, settings: Settings) -> str | None:
    """What to judge copying by: exact copies where there are enough, else induction where there is any."""
    if "copy" not in measured(before):
        return None
    if level(before, "copy") >= settings.copies:
        return "copy"
    gained = contrast([Term(1, before)], "induction", seed=0)
    return "induction" if gained.low > 0 else None


def _about(model: LoadedModel, encoded: Encoded, source: str, found: Findings, copying: str | None) -> dict[str, Any]:
    heads, names = found.table.height, found.chosen
    layers = found.table["layer"].n_unique()
    return {
        "model": about_model(model, layers=layers, heads=heads),
        "texts": about_texts(model, encoded, source),
        "chosen": {kind: list(names.of(kind)) for kind in KINDS},
        "rule": names.rule,
        "pure": names.pure,
        "share": found.share,
        "shares": sorted({one.share for one in found.outcomes}),
        "copying": copying,
    }


def _notes(found: Findings, copying: str | None, scale: str) -> list[str]:
    """What keeps a reader from misreading it."""
    told = ["Nothing of this was published, apart from the first claim; there are no figures to be near to."]
    if scale == "paper":
        told.append("There is no paper to follow, so this scale is `small` with every text.")
    if not found.chosen.pure:
        told.append("Heads were chosen by rank: too few of one kind have more than half of their variance on its side.")
    told += _unequal(found)
    told.append(NOT_CORRECTED.format(count=comparisons(copying) * len(found.outcomes)))
    if copying == "induction":
        told.append(FEW_COPIES)
    return told


def _span(numbers: Sequence[int]) -> str:
    """From the first to the last of some sorted numbers of pairs."""
    last = "1 pair" if numbers[-1] == 1 else f"{numbers[-1]} pairs"
    return f"{numbers[0]} to {last}" if numbers[0] < numbers[-1] else last


def _unequal(found: Findings) -> list[str]:
    """Which controls are not of equal norm, or are few, or of other numbers of pairs; said once for both operations."""
    told = []
    for one in found.tried:
        for control, changes in one.cell.controls.items():
            where = f"the {SPEED[one.cell.side]} band ({one.cell.share:g}) of {one.cell.kind} heads"
            ratio, pairs = changes[0].norm / one.cell.change.norm, sorted(change.pairs for change in changes)
            if one.cell.standing(control) != EQUAL:
                told.append(
                    f"There are no {control} of equal norm for {where}: the nearest has {ratio:.2f} times its norm."
                )
            elif len(changes) < FEWEST:
                many = count(len(changes), "draw")
                told.append(f"For {where}, {many} of {control} came out of equal norm, too few for a verdict.")
            elif pairs[0] != one.cell.change.pairs or pairs[-1] != one.cell.change.pairs:
                told.append(
                    f"To be of equal norm, {control} for {where} are {_span(pairs)} instead of {one.cell.change.pairs}."
                )
    return list(dict.fromkeys(told))
