"""What is told of the probe: in the manifest, on the screen, and in plain sentences against misreading."""

from collections.abc import Sequence
from typing import Any

import torch

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.encode import token_names
from wherewhat.probing.dependencies.claims import claims_of, how_judged
from wherewhat.probing.dependencies.examples import examples_of
from wherewhat.probing.dependencies.gold import ALL, SIDES, TO_HEAD
from wherewhat.probing.dependencies.lines import SURE, SYNTACTIC, Line, chosen
from wherewhat.probing.dependencies.own_heads import EACH
from wherewhat.probing.dependencies.scoring import UNIFORM_SHUFFLED, Scoring
from wherewhat.probing.dependencies.sentences import Treebank
from wherewhat.probing.dependencies.settings import CALLED, CONTEXTUAL, FULL, POSITIONAL, SHUFFLED
from wherewhat.probing.dependencies.study import Study
from wherewhat.profiling.describe import about_model, hash_of

NAME = "dependencies"


def about(model: LoadedModel, studies: Sequence[Study], aligned: bool) -> dict[str, Any]:
    """What the manifest says of the model, of what it read, and of what came of it."""
    looked, parameter = studies[0].scoring.looked, next(model.module.parameters())
    told = [(study, study.treebank.name) for study in studies]
    return {
        "probe": NAME,
        "model": about_model(model, layers=len(looked.layers), heads=len(looked.heads)),
        "dtype": str(parameter.dtype).removeprefix("torch."),
        "device": str(parameter.device),
        "layers": [{"layer": at, "part": one.part, "module": one.module} for one, at in looked.layers.items()],
        "way": "causal" if looked.causal else "bidirectional",
        "split": "black-box",
        "aligned": aligned,
        "data": [_about_data(model, study) for study in studies],
        "chosen": [one for study, name in told for held in study.held for one in chosen(study.scoring, held, name)],
        "examples": [example for study, name in told for example in examples_of(study.scoring, name)],
        "claims": [claim for study, name in told for claim in claims_of(study.scoring, study.each, name)],
        "judged": how_judged(studies[0].scoring),
        "said": "; ".join(said(study) for study in studies),
        "notes": notes(studies, aligned),
    }


def _about_data(model: LoadedModel, study: Study) -> dict[str, Any]:
    scoring, sentences = study.scoring, study.treebank.sentences
    every, rows = scoring.every, scoring.rows
    facts = {
        line.measure: line.value for line in study.lines if (line.kind, line.item, line.side) == ("order", ALL, None)
    }
    counts = {side: len(rows.where(ALL, side)) for side in SIDES}
    return {
        "name": study.treebank.name,
        "source": study.treebank.source,
        "hash": hash_of([one.aligned.ids_T for one in sentences]),
        "sentences": len(sentences),
        "words": sum(len(one.kept) for one in sentences),
        "removed": sum(len(one.units.words) - len(one.kept) for one in sentences),
        "merged": sum(one.units.merged for one in sentences),
        "pieces": sum(len(one.aligned.ids_T) for one in sentences),
        "rows": counts,
        "hidden": {side: len(every.where(ALL, side)) - counts[side] for side in SIDES},
        "skipped": dict(study.treebank.skipped.most_common()),
        "dropped": scoring.dropped,
        "left": facts.get("left"),
        "distance": facts.get("distance"),
        "median": facts.get("median"),
        "copied": token_names(model, torch.tensor(scoring.looked.copied, dtype=torch.long)),
    }


def left_out(treebank: Treebank) -> list[str]:
    """What has to be known on the screen."""
    return [f"{treebank.name}: {many:,} sentence(s) left out: {why}" for why, many in treebank.skipped.most_common()]


def few_rows(study: Study) -> list[str]:
    """That relations are not told of, and what would help."""
    names = {one["item"] for one in study.scoring.dropped}
    if not names:
        return []
    told = f"{len(names)} relation(s) left out from one side or both: fewer than {study.scoring.least} rows"
    return [f"{study.treebank.name}: {told}; more sentences or a smaller --least would tell of them"]


def said(study: Study) -> str:
    """The main result in a few words: of all relations together, from a word to its governor."""
    found = {line.kind: line for line in study.lines if _is_main(line)}
    shown = {kind: f"{called} {100 * found[kind].value:.1f} %" for kind, called in CALLED.items() if kind in found}
    if SHUFFLED in shown and study.scoring.looked.causal:
        shown[SHUFFLED] += f" (even attention there {100 * found[UNIFORM_SHUFFLED].value:.1f} %)"
    asked, every = (len(rows.where(ALL, TO_HEAD)) for rows in (study.scoring.rows, study.scoring.every))
    seen = f" (those that stand before: {asked:,} of {every:,})" if study.scoring.looked.causal else ""
    return f"{study.treebank.name}: governors found by the best head{seen}: {', '.join(shown.values())}"


def _is_main(line: Line) -> bool:
    return (line.item, line.side, line.distance, line.measure, line.head) == (ALL, TO_HEAD, ALL, "accuracy", None)


def notes(studies: Sequence[Study], aligned: bool) -> list[str]:
    """Plain sentences that keep a reader from misreading the numbers."""
    scoring = studies[0].scoring
    found = [
        "Punctuation and tokens of no word are left out; offsets and distances are counted over the words kept.",
        "Attention to a word is the sum over its pieces, attention from a word the mean; a word's attention to itself "
        "does not count.",
    ]
    found.append(
        f"`{EACH}`: rows of all relations together, each by the best head of its own relation, whatever the distance; "
        "`all`: one head for all relations. A head chosen for one distance is told the distance with the question."
    )
    if scoring.looked.causal:
        asked, every = (sum(len(getattr(one.scoring, rows)) for one in studies) for rows in ("rows", "every"))
        found.append(
            "Words see only what stands before them, so only relations whose partner stands before are asked: "
            f"{asked:,} of {every:,} rows. Never compare these numbers with those of a model that sees both sides."
        )
    found += _of_parts(scoring)
    if scoring.asking.selection == "same":
        found.append("Heads and offsets are chosen on the very rows that they are scored on, which flatters them.")
    if aligned:
        found.append("The treebanks hold the same sentences, told by their ids, and are resampled together.")
    return found


def _of_parts(scoring: Scoring) -> list[str]:
    """What the parts that were read are, and what they are held against."""
    parts, found = scoring.looked.looks, list[str]()
    if POSITIONAL in parts:
        found.append(
            "Place alone (black-box): attention on a word of one piece, as often as the sentence has words, in the "
            f"mean over {len(scoring.looked.copied)} words. So it knows nothing of how many pieces words have."
        )
    if CONTEXTUAL in parts:
        found.append(
            f"Content alone (black-box): attention in the mean over {scoring.asking.orders} orders of the words."
        )
    if SHUFFLED in parts and len(parts) > 1:
        found.append("A shuffled sentence is read by the heads that were chosen on sentences as they are.")
    if SHUFFLED in parts and scoring.looked.causal:
        found.append(
            "Of a shuffled sentence only rows whose partner still stands before are asked. Even attention beside it is "
            "that of these rows in that order; the other even attention is of sentences as they are."
        )
    if set(parts) - {SHUFFLED}:
        found.append(
            f"Clearly more than the best offset: the interval of the difference lies above 0, and p is below {SURE}. p "
            "is how probable so large a difference is if the signs of whole sentences' differences fell at random "
            "(two-sided, by the normal distribution), after Holm's correction over relations and sides."
        )
    if FULL in parts:
        found.append(
            f"Syntactic, after Voita et al. (arXiv 1905.09418): full attention finds at least {100 * SYNTACTIC:.0f} "
            "points more than the best fixed offset."
        )
    return found
