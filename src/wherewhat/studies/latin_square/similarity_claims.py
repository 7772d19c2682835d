"""Claims on nets that resemble something: their attention rows and columns, or their tables the 2-D sinusoid.

Each is a correlation over kinds of nets.
"""

from functools import partial

from wherewhat.stats.verdict import interval_verdict
from wherewhat.studies.engine.claims import Verdict, claim
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.contrasts import best_lines, best_table, rank_with_accuracy
from wherewhat.studies.latin_square.names import CENTRED, LAYOUT, LINE_SHARE, LINES, NONE
from wherewhat.studies.latin_square.verdicts import LIMITED

ANOTHER_SIMILARITY = (
    "What was published is similarity to the attention of the net with the sinusoid, which was not measured here."
)


@claim(
    "Nets whose attention follows rows and columns answer more puzzles.",
    "accuracy rises with the similarity of attention to that of another net, the one with the sinusoid, not to a mask "
    "of rows and columns as here; read from reviews",
)
def attention(table: ResultTable) -> Verdict:
    """By the rank correlation, over arms with positions, of accuracy and the best block's share on rows and columns.

    Without the last block, of which only the attention of the last cell reaches the answer. The cosine is told beside
    it: it is higher the more diffuse attention is, and without positions attention is uniform.
    """
    arms = [arm for arm in table.scale.arms if arm != NONE]
    (share, number), (cosine, _) = (
        rank_with_accuracy(table, arms, partial(best_lines, measure=measure)) for measure in (LINE_SHARE, LINES)
    )
    if not share.known:
        return Verdict(f"{number} kinds of nets with positions are too few for a correlation", "unknown")
    ours = f"Rank correlation with accuracy over {number} kinds of nets with positions: share of attention on rows and "
    ours += f"columns {share.plain()}"
    ours += f"; cosine with them, which diffuse attention raises, {cosine.plain()}" if cosine.known else ""
    verdict = interval_verdict(share.low, share.high)
    return Verdict(ours, LIMITED.get(verdict, verdict), ANOTHER_SIMILARITY)


@claim(
    "Nets whose tables resemble the 2-D sinusoid answer more puzzles.",
    "accuracy rises with the similarity of table and sinusoid after alignment, read from reviews; numbers unknown",
    answers={
        "agrees": "Nets whose tables resemble the 2-D sinusoid answer more puzzles",
        "disagrees": "Nets whose tables resemble the 2-D sinusoid answer fewer puzzles",
        "unknown": "Whether nets whose tables resemble the 2-D sinusoid answer more puzzles is open",
    },
)
def resembling(table: ResultTable) -> Verdict:
    """By the rank correlation, over arms with learned tables, of accuracy and centred Procrustes of the best block."""
    (aligned, arms), (layout, _) = (
        rank_with_accuracy(table, table.scale.arms, partial(best_table, measure=measure))
        for measure in (CENTRED, LAYOUT)
    )
    if not aligned.known:
        return Verdict(f"{arms} kinds of nets with learned tables are too few for a correlation", "unknown")
    ours = f"Rank correlation with accuracy over {arms} kinds of nets with learned tables: centred Procrustes "
    ours += f"{aligned.plain()}; layout correlation {layout.plain()}"
    return Verdict(ours, interval_verdict(aligned.low, aligned.high), short=f"{ours}.")
