"""From what was tallied to the rows of tables."""

from collections.abc import Mapping, Sequence

import polars as pl

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.errors import UserError
from wherewhat.names import HEAD_NAME, head_name, layer_labels
from wherewhat.profiling.accumulate import LayerScores, Resampling, ScoreAccumulator, Summary, summarise
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.tables.schema import FREQUENCIES, HEADS, OFFSETS, frame, without_nan

Answers = Mapping[AttentionSite, Mapping[str, Summary]]  # of every place, by score


def heads_table(
    model: str,
    tally: ScoreAccumulator,
    layers: dict[AttentionSite, int],
    settings: ProfileSettings,
    *,
    resampling: Resampling,
    more: Sequence[Answers] = (),
) -> pl.DataFrame:
    """heads.parquet: one row per head and score; `more` are answers that other walks have found."""
    rows = []
    for site, layer, account, heads in chosen(tally, layers, settings):
        answers = {name: summarise(account, name, resampling) for name in account.values}
        for found in more:
            answers |= found.get(site, {})
        for head in heads:
            for name, answer in answers.items():
                rows.append((model, layer, head, name, *_numbers(answer, head), site.part))
    return frame(rows, HEADS)


def _numbers(answer: Summary, head: int) -> tuple[object, ...]:
    """The columns from the value to the number of rows; `untrained` is filled in later, by those who measure it."""
    spread = (answer.value_H[head], answer.low_H[head], answer.high_H[head], answer.chance_H[head])
    rests = (int(answer.texts_H[head]), int(answer.windows_H[head]), int(answer.rows_H[head]) or None)
    return *map(float, spread), None, *rests


def offsets_table(
    model: str, tally: ScoreAccumulator, layers: dict[AttentionSite, int], settings: ProfileSettings
) -> pl.DataFrame:
    """offsets.parquet: mean mass at every relative offset that some row could see."""
    tables = [pl.DataFrame(schema=OFFSETS)]
    for _, layer, account, heads in chosen(tally, layers, settings):
        if account.mass_HO is None or account.texts_O is None or account.rows_O is None:
            continue
        seen = account.texts_O.nonzero()[0]
        mean_HO = account.mass_HO[:, seen] / account.texts_O[seen]
        offsets = seen - account.mass_HO.shape[1] // 2
        for head in heads:
            columns = {"model": model, "layer": layer, "head": head, "offset": offsets}
            columns |= {"mass": mean_HO[head], "rows": account.rows_O[seen]}
            tables.append(pl.DataFrame(columns, schema=OFFSETS))
    return without_nan(pl.concat(tables))


def frequencies_table(
    model: str, tally: ScoreAccumulator, layers: dict[AttentionSite, int], settings: ProfileSettings
) -> pl.DataFrame:
    """frequencies.parquet: what every rotary frequency of every head carries."""
    rows = []
    for _, layer, account, heads in chosen(tally, layers, settings):
        if account.frequencies is None:
            continue
        theta_F, measures = account.frequencies.theta_F.tolist(), account.frequencies.values()
        for head in heads:
            for name, value_HF in measures.items():
                values = enumerate(zip(theta_F, value_HF[head].tolist(), strict=True))
                rows += [(model, layer, head, number, theta, name, value) for number, (theta, value) in values]
    return frame(rows, FREQUENCIES)


def labels_of(layers: Mapping[AttentionSite, int]) -> dict[int, str]:
    """What layers are called, by their numbers."""
    return layer_labels({"layer": number, "part": site.part} for site, number in layers.items())


def chosen(
    tally: ScoreAccumulator, layers: dict[AttentionSite, int], settings: ProfileSettings
) -> list[tuple[AttentionSite, int, LayerScores, list[int]]]:
    """The layers and heads that were asked for."""
    named = {_numbers_of(name, layers) for name in settings.heads}
    if missing := set(settings.layers) - set(layers.values()):
        raise UserError(f"there is no layer {min(missing)}; the model has layers {_all_of(layers)}")
    kept = []
    for site, layer in layers.items():
        account = tally.accounts[site]
        if missing := {head for number, head in named if number == layer and head >= account.heads}:
            labels, last = labels_of(layers), account.heads - 1
            where = f"layer {layer}" if labels[layer] == f"L{layer}" else labels[layer]
            raise UserError(f"there is no head {head_name(layer, min(missing), labels)}; {where} has heads 0 to {last}")
        heads = [head for head in range(account.heads) if not named or (layer, head) in named]
        if heads and (not settings.layers or layer in settings.layers):
            kept.append((site, layer, account, heads))
    if not kept:
        raise UserError("no head is left: none of the --heads lies in the --layers; loosen one of them")
    return kept


def _numbers_of(name: str, layers: Mapping[AttentionSite, int]) -> tuple[int, int]:
    """The number of a head's layer in the tables, and its own."""
    match = HEAD_NAME.fullmatch(name)
    assert match is not None, "settings have been checked"
    part, layer, head = match[1], int(match[2]), int(match[3])
    parts = list(dict.fromkeys(site.part for site in layers))
    if part is None and len(parts) > 1:
        names = " or ".join(f"'{one} {name}'" for one in parts)
        raise UserError(f"the model has several parts, so '{name}' may be several heads; ask for {names}")
    for site, number in layers.items():
        if site.part == (part or parts[0]) and site.ordinal == layer:
            return number, head
    raise UserError(f"there is no head {name}; the model has layers {_all_of(layers)}")


def _all_of(layers: Mapping[AttentionSite, int]) -> str:
    """The layers there are, in words; those of several parts by the numbers that count through."""
    parts = {part: [n for site, n in layers.items() if site.part == part] for part in (p.part for p in layers)}
    if len(parts) < 2:
        return f"0 to {len(layers) - 1}"
    return f"0 to {len(layers) - 1} ({', '.join(f'{part} {min(its)} to {max(its)}' for part, its in parts.items())})"
