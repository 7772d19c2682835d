"""Scores on repeated random tokens: draw sequences, let the model read them, and see where every head looks."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.capture.tokens.special_tokens import plain_tokens, special_tokens
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import LayerScores, WindowScore, not_finite, summarise_all
from wherewhat.profiling.measurements.base import Measurement, MeasurementResult, ProfileContext
from wherewhat.profiling.settings import LEAST_BLOCK, RepeatedSettings
from wherewhat.scores.base import REPEATED_TOKENS, Rows
from wherewhat.scores.patterns import PATTERNS, REPEATED_SCORES, answers
from wherewhat.stats.bootstrap import Resampling
from wherewhat.tables.manifest.scores import RepeatedSection

PHASE = "repeated tokens"


@dataclass(frozen=True)
class RepeatedSequences:
    """What a model reads, and where in it the two blocks are."""

    ids: list[Tensor]
    first: int  # slot of the first block's first token
    length: int  # of a block


def draw_sequences(model: LoadedModel, settings: RepeatedSettings) -> RepeatedSequences:
    """Draw blocks without repetition inside, as long as requested or as fit, and put special tokens around them.

    A token that occurred twice in a block would have two copies to look back at, and two followers.
    """
    known_V = plain_tokens(model)
    before, after = special_tokens(model)
    room = ((model.context or 2**31) - len(before) - len(after)) // 2
    length = min(settings.length, room, len(known_V))
    if length < LEAST_BLOCK:
        raise UserError(
            f"{model.id} holds {model.context} tokens and knows {len(known_V)} that are not special; "
            f"a block of at least {LEAST_BLOCK} of them has to fit in twice, so leave --random out"
        )
    generator = torch.Generator().manual_seed(settings.seed)
    around = torch.tensor(before, dtype=torch.long), torch.tensor(after, dtype=torch.long)
    ids = []
    for _ in range(settings.sequences):
        block_T = known_V[torch.randperm(len(known_V), generator=generator)[:length]]
        ids.append(torch.cat((around[0], block_T, block_T, around[1])))
    return RepeatedSequences(ids, len(before), length)


def measure(context: ProfileContext) -> MeasurementResult:
    """Measure how every head attends to tokens that occurred before."""
    settings = context.settings.random
    assert isinstance(settings, RepeatedSettings)
    drawn = draw_sequences(context.model, settings)
    on_text, done = context.phases.begin(PHASE), 0
    layers: dict[AttentionSite, LayerScores] = {}
    with capture(context.model.module, lambda rows: _add(layers, rows, drawn)) as session:
        for batch in batches(drawn.ids, queries=ALL, seed=settings.seed, tokens=settings.batch_tokens):
            session.read(batch)
            done += len(batch.texts)
            on_text(done, len(drawn.ids))
    resampling = Resampling(tuple(range(len(drawn.ids))), settings.seed)  # texts of one window each
    special = len(drawn.ids[0]) - 2 * drawn.length
    rows = {}
    for pattern in PATTERNS:  # rows of a sequence that count: the fewest and the most over heads and sequences
        weights = (layer.weights[f"random.{pattern}"].values() for layer in layers.values())
        rows_X = np.concatenate([rows_H for by_sequence in weights for rows_H in by_sequence])
        rows[pattern] = {"fewest": int(rows_X.min()), "most": int(rows_X.max())}
    section = RepeatedSection(length=drawn.length, sequences=len(drawn.ids), special=special, rows=rows)
    result = MeasurementResult(
        summaries={site: summarise_all(layer, resampling) for site, layer in layers.items()},
        scores={score.name: score for score in REPEATED_SCORES},
        notes=_notes(settings, section),
        section=section,
    )
    return result.only(context.settings.named(REPEATED_TOKENS)) if context.settings.scores else result


def _add(layers: dict[AttentionSite, LayerScores], captured: AttentionRows, drawn: RepeatedSequences) -> None:
    """Add one sequence at one site. Of two stacks only the encoder counts: the decoder's tokens are shifted."""
    two_stacks = any(site.part == "encoder" for site in layers)
    if captured.site.part == "cross" or (captured.site.part == "decoder" and two_stacks):
        return
    rows = block_rows(captured, drawn)
    if not bool(rows.attention_HQK.isfinite().all()):
        raise not_finite("attention", captured.site, "on random tokens")
    layer = layers.setdefault(captured.site, LayerScores(len(captured.attention_HQK)))
    for pattern in PATTERNS:
        for measure, (value_H, count_H, chance) in answers(rows, pattern).items():
            score = WindowScore(value_H, count_H, chance, rows=count_H)
            layer.add(f"random.{pattern}{measure}", captured.text, score)


def block_rows(captured: AttentionRows, drawn: RepeatedSequences) -> Rows:
    """The rows of the blocks, and of their keys those in the blocks: special tokens are neither queries nor keys."""
    blocks = slice(drawn.first, drawn.first + 2 * drawn.length)
    inside_Q = (captured.queries_Q >= blocks.start) & (captured.queries_Q < blocks.stop)
    allowed_QK: Tensor = captured.allowed_QK[inside_Q, blocks]
    attention_HQK = captured.attention_HQK[:, inside_Q, blocks].double() * allowed_QK
    return Rows(attention_HQK, captured.queries_Q[inside_Q] - drawn.first, allowed_QK, captured.tokens_K[blocks])


def _notes(settings: RepeatedSettings, section: RepeatedSection) -> list[str]:
    """Sentences that keep a reader from misreading the scores."""
    length = section.length or 0
    notes = [
        f"random.* were measured on {section.sequences} sequences of a block of {length} different random tokens that "
        "occurs twice. Rows that see no such key do not count, and special tokens around the blocks are neither rows "
        "nor keys: a head that rests on the first token is judged by the rest of its attention."
    ]
    notes += [
        f"For random.{pattern}, {rows['fewest']} to {rows['most']} rows of a sequence count: a window hides such keys "
        "from some heads, or a head spends no attention on the visible keys."
        for pattern, rows in section.rows.items()
        if rows["fewest"] < rows["most"] or not rows["most"]
    ]
    if length < settings.length:
        notes.append(f"Blocks of {settings.length} tokens were requested, but the model holds {length}.")
    return notes


def _work(context: ProfileContext) -> int:
    settings = context.settings.random
    return settings.sequences * 2 * settings.length if isinstance(settings, RepeatedSettings) else 0


REPEATED_RANDOM_TOKENS = Measurement(
    name="random",
    phase=PHASE,
    kinds=(REPEATED_TOKENS,),
    is_wanted=lambda context: context.settings.random is not None,
    work=_work,
    measure=measure,
)
