"""What an attribution says, in sentences: what speaks for an output and what against it, and where relevance went."""

from collections import Counter

import polars as pl

from wherewhat.formatting import listed, percent, short, signed
from wherewhat.report.blocks.token_text import quoted
from wherewhat.report.pages.attribution.relevance_data import Explanation, RelevanceData
from wherewhat.tables.manifest.attribution import AttributionManifest

NAMED = 3  # tokens for and against
LEAST = 0.02  # of the largest relevance, below which a token is not named
POSITIONS = "position"  # the aggregate that leaves tokens out
KINDS = {"next": "next token", "masked": "masked token", "labels": "label", "answer": "answer"}
PARTS = {  # of a ledger, and what a sentence says of each
    "tokens": "tokens have",
    "positions": "positions have",
    "biases": "added biases have",
    "others": "other embeddings have",
    "softmax": "softmaxes keep",
}


def findings(relevance: pl.DataFrame, manifest: AttributionManifest) -> list[str]:
    """One sentence per output, by the first method."""
    data = RelevanceData(relevance, manifest)
    return [finding(each, data) for each in data.first]


def finding(explanation: Explanation, data: RelevanceData) -> str:
    """What adds most to an output and what takes most away."""
    most = max(map(abs, explanation.combined), default=0.0)
    ranked = explanation.ranked
    adds = [slot for slot in ranked[:NAMED] if explanation.combined[slot] > LEAST * most]
    takes = [slot for slot in ranked[::-1][:NAMED] if explanation.combined[slot] < -LEAST * most]
    parts = [
        f"{where} {_tokens(explanation, slots)}" for where, slots in (("for it", adds), ("against it", takes)) if slots
    ]
    text = f"Text {explanation.explained.text + 1}: " if data.texts > 1 else ""
    what = ", by positions alone" if data.manifest.aggregate.name == POSITIONS and explanation.about.positions else ""
    return f"{text}{title(explanation)}{what}: {'; '.join(parts) or 'no token has any relevance'}."


def _tokens(explanation: Explanation, slots: list[int]) -> str:
    """Tokens with their relevance; one that occurs several times has its slot."""
    times = Counter(piece.text for piece in explanation.texts)
    words = []
    for slot in slots:
        text = explanation.texts[slot].text
        where = f" in slot {slot}" if times[text] > 1 else ""
        words.append(f"{quoted(text)}{where} {signed(explanation.combined[slot], 2)}")
    return ", ".join(words)


def title(explanation: Explanation) -> str:
    """What is explained, with its probability, and what the model prefers if that is something else."""
    explained = explanation.explained
    what = f"{KINDS.get(explained.kind, 'output')} {quoted(explanation.name)}"
    chance = "" if explained.probability is None else f" ({probability(explained.probability)})"
    other = f", where the model prefers {quoted(explanation.likeliest)}" if explanation.likeliest else ""
    return f"{what}{chance}{other}"


def probability(value: float) -> str:
    """A probability in per cent; a small one is never rounded to 0.

    >>> probability(0.683), probability(0.0012), probability(3e-7)
    ('68\\xa0%', '0.12\\xa0%', '3e-05\\xa0%')
    """
    if value == 0 or value >= 0.0095:
        return percent(value)
    return f"{100 * value:.2g}\N{NO-BREAK SPACE}%"


def ledger_sentence(explanation: Explanation) -> str:
    """Where the relevance of an output went."""
    ledger = explanation.ledger
    if ledger is None or ledger.logit is None:
        return f"There is no ledger: what {explanation.method} gives to tokens does not add up to the logit."
    parts = {words: getattr(ledger, name) for name, words in PARTS.items() if getattr(ledger, name)}
    shares = min(parts.values(), default=0.0) >= 0 < ledger.logit
    phrases = [
        f"{words} {percent(value / ledger.logit) if shares else signed(value, 2)}" for words, value in parts.items()
    ]
    if not ledger.balances:
        return (
            f"Relevance does not add up to the logit, {short(ledger.logit)}: {signed(ledger.rest, 2)} is missing, so "
            f"do not rely on these numbers. Of what there is, {listed(phrases)}."
        )
    return f"Relevance adds up to the logit, {short(ledger.logit)}: {listed(phrases)}."
