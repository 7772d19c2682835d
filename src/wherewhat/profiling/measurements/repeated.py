"""The walk of repeated tokens: draw them, let the model read them, ask every head what it does with them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from wherewhat.capture.capture import capture
from wherewhat.capture.hooks.reader import AttentionSite, Seen
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.errors import UserError
from wherewhat.profiling.accumulate import LayerScores, Summary, each_alone, summarise
from wherewhat.profiling.hidden_states.run import enter
from wherewhat.profiling.repeated_tokens.repeating import Repeating
from wherewhat.profiling.repeated_tokens.sequences import Sequences, draw_sequences
from wherewhat.profiling.repeated_tokens.told import ABOUT, notes
from wherewhat.scores.base import Rows
from wherewhat.scores.repeated import PATTERNS, answers

Progress = Callable[[int, int], None]  # sequences done, of how many


@dataclass(frozen=True)
class Repeats:
    """What came of it, ready for the tables and the manifest."""

    answers: dict[AttentionSite, dict[str, Summary]] = field(default_factory=dict)
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)  # how to read each score
    notes: list[str] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)  # sizes, as the manifest tells them

    def only(self, names: Collection[str]) -> "Repeats":
        """Some of the scores."""
        kept = {
            site: {name: one for name, one in found.items() if name in names} for site, found in self.answers.items()
        }
        return replace(self, answers=kept, scores={name: self.scores[name] for name in self.scores if name in names})


def measure_repeats(model: LoadedModel, repeating: Repeating, on_text: Progress | None = None) -> Repeats:
    """Ask of every head how it looks at tokens that were said before."""
    drawn = draw_sequences(model, repeating)
    books: dict[AttentionSite, LayerScores] = {}
    with capture(model.module, lambda seen: _note(books, seen, drawn)) as captured:
        done = 0
        for batch in batches(drawn.ids, queries=ALL, seed=repeating.seed, tokens=repeating.batch_tokens):
            captured.read(batch)
            done += len(batch.texts)
            if on_text is not None:
                on_text(done, len(drawn.ids))
    sequences = each_alone(len(drawn.ids), repeating.seed)
    found = {
        site: {name: summarise(account, name, sequences) for name in account.values} for site, account in books.items()
    }
    sizes = {"length": drawn.length, "sequences": len(drawn.ids), "special": len(drawn.ids[0]) - 2 * drawn.length}
    told = {**sizes, "rows": _rows(books)}
    return Repeats(found, ABOUT, notes(repeating, told), told)


def _rows(books: dict[AttentionSite, LayerScores]) -> dict[str, dict[str, int]]:
    """Of every pattern, how many rows of one sequence count for a head: the fewest and the most of all heads."""
    rows = {}
    for pattern in PATTERNS:
        name = f"random.{pattern}"
        counts = [int(count) for account in books.values() for of in account.weights[name].values() for count in of]
        rows[pattern] = {"fewest": min(counts), "most": max(counts)}
    return rows


def _note(books: dict[AttentionSite, LayerScores], seen: Seen, drawn: Sequences) -> None:
    """Write down what one sequence shows at one place; the rows of the second stack are of shifted tokens: left out."""
    if seen.site.part == "cross" or (seen.site.part == "decoder" and _two_stacks(books)):
        return
    rows = rows_within(seen, drawn)
    if not bool(rows.attention_HQK.isfinite().all()):
        raise UserError(
            f"the attention of {seen.site.module} is not finite on random tokens; "
            "load the model with --dtype float32, or check its weights"
        )
    account = books.setdefault(seen.site, LayerScores(len(seen.attention_HQK)))
    for pattern in PATTERNS:
        for measure, answer in answers(rows, pattern).items():
            enter(account, f"random.{pattern}{measure}", seen.text, answer, rows=answer[1])


def _two_stacks(books: dict[AttentionSite, LayerScores]) -> bool:
    return any(site.part == "encoder" for site in books)


def rows_within(seen: Seen, drawn: Sequences) -> Rows:
    """The rows of the blocks alone, and of their keys those in the blocks: special tokens neither ask nor count."""
    inside_Q = (seen.queries_Q >= drawn.first) & (seen.queries_Q < drawn.stop)
    block = slice(drawn.first, drawn.stop)
    allowed_QK: Tensor = seen.allowed_QK[inside_Q, block]
    attention_HQK = seen.attention_HQK[:, inside_Q, block].double() * allowed_QK
    return Rows(attention_HQK, seen.queries_Q[inside_Q] - drawn.first, allowed_QK, seen.tokens_K[block])
