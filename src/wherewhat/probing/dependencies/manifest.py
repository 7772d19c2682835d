"""The manifest of the dependency probe: the model, the data, the claims, and notes against misreading."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.encode import token_names
from wherewhat.probing.dependencies.claims import basis_of_claims, claims_of
from wherewhat.probing.dependencies.scoring import EACH, OFFSET, UNIFORM_SHUFFLED, RelationScorer, Scores
from wherewhat.probing.dependencies.settings import ALL, CONTEXTUAL, FULL, POSITIONAL, SHUFFLED, SIDES, TITLES, TO_HEAD
from wherewhat.probing.dependencies.table_rows import SURE, SYNTACTIC, ProbeRow
from wherewhat.probing.dependencies.treebanks import EncodedTreebank
from wherewhat.profiling.describe import model_section, text_hash
from wherewhat.tables.manifest.probe import (
    ChosenHeads,
    DroppedRelation,
    ProbeClaim,
    ProbeData,
    ProbeExample,
    ProbeManifest,
)
from wherewhat.tables.manifest.provenance import provenance
from wherewhat.tables.manifest.sections import LayerSection

NAME = "dependencies"
MOST = 6  # relations that are shown in a sentence
SHORTEST, LONGEST = 5, 14  # kept words of a sentence that is easy to read


@dataclass(frozen=True)
class TreebankResult:
    """A treebank and everything that came of it."""

    treebank: EncodedTreebank
    scorer: RelationScorer
    scores: tuple[Scores, ...]  # by group
    each: tuple[Scores, ...]  # all relations together, each by its own head, by side and distance
    rows: tuple[ProbeRow, ...]


def dropped_relations(scorer: RelationScorer) -> list[DroppedRelation]:
    """The relations with too few rows, by side."""
    kept = {(group.item, group.side) for group in scorer.groups}
    return [
        DroppedRelation(item=item, side=side, rows=len(scorer.rows.where(item, side)))
        for item in scorer.relations
        for side in SIDES
        if (item, side) not in kept
    ]


def manifest_of(model: LoadedModel, results: Sequence[TreebankResult], aligned: bool) -> ProbeManifest:
    """Everything but the settings and how long it took."""
    targets, parameter = results[0].scorer.targets, next(model.module.parameters())
    named = [(result, result.treebank.name) for result in results]
    return ProbeManifest(
        **provenance(),
        probe=NAME,
        model=model_section(model, layers=len(targets.layers), heads=len(targets.heads)),
        dtype=str(parameter.dtype).removeprefix("torch."),
        device=str(parameter.device),
        layers=[
            LayerSection(layer=layer, part=site.part, module=site.module) for site, layer in targets.layers.items()
        ],
        way="causal" if targets.causal else "bidirectional",
        split="black-box",
        aligned=aligned,
        data=[_data_section(model, result) for result in results],
        chosen=[choice for result, name in named for choice in _chosen_heads(result, name)],
        examples=[example for result, name in named for example in _examples(result.scorer, name)],
        claims=[
            ProbeClaim(**claim.entry) for result, name in named for claim in claims_of(result.scorer, result.each, name)
        ],
        judged_by=basis_of_claims(results[0].scorer),
        summary="; ".join(_summary(result) for result in results),
        notes=_notes(results, aligned),
    )


def _data_section(model: LoadedModel, result: TreebankResult) -> ProbeData:
    scorer, sentences = result.scorer, result.treebank.sentences
    facts = {row.measure: row.value for row in result.rows if (row.kind, row.item, row.side) == ("order", ALL, None)}
    counts = {side: len(scorer.rows.where(ALL, side)) for side in SIDES}
    return ProbeData(
        name=result.treebank.name,
        source=result.treebank.source,
        hash=text_hash([sentence.aligned.ids_T for sentence in sentences]),
        sentences=len(sentences),
        words=sum(len(sentence.kept) for sentence in sentences),
        removed=sum(len(sentence.units.words) - len(sentence.kept) for sentence in sentences),
        merged=sum(sentence.units.merged for sentence in sentences),
        pieces=sum(len(sentence.aligned.ids_T) for sentence in sentences),
        rows=counts,
        hidden={side: len(scorer.every.where(ALL, side)) - counts[side] for side in SIDES},
        skipped=dict(result.treebank.skipped.most_common()),
        dropped=dropped_relations(scorer),
        left=facts.get("left"),
        distance=facts.get("distance"),
        median=facts.get("median"),
        copied=token_names(model, torch.tensor(scorer.targets.repeated, dtype=torch.long)),
    )


def _chosen_heads(result: TreebankResult, data: str) -> list[ChosenHeads]:
    """Which head or offset each half chose for every group."""
    scorer = result.scorer
    return [
        ChosenHeads(
            data=data,
            item=score.group.item,
            side=score.group.side,
            kind=kind,
            distance=score.group.distance,
            heads=[] if kind == OFFSET else scorer.targets.names(score.chosen),
            offsets=[scorer.offsets[number] for number in score.chosen] if kind == OFFSET else [],
        )
        for scores in result.scores
        for kind, score in scores.items()
        if score.chosen
    ]


def _examples(scorer: RelationScorer, data: str) -> list[ProbeExample]:
    """For the most frequent relations, the first sentence of a good length that has one, and where its heads attend."""
    rows, targets, examples = scorer.rows, scorer.targets, list[ProbeExample]()
    kept = [len(sentence.kept) for sentence in scorer.sentences]
    readable = {number for number, words in enumerate(kept) if SHORTEST <= words <= LONGEST}
    for group in (group for group in scorer.groups if group.is_relation and group.side == TO_HEAD):
        places = ((row, int(rows.sentence_N[row])) for row in group.rows_N.tolist())
        row, number = next((place for place in places if place[1] in readable), (-1, -1))
        if row < 0 or len(examples) == MOST:
            continue
        readable.remove(number)  # every sentence is shown once
        scores, half, to = scorer.held_out(group), int(rows.half_N[row]), int(rows.to_N[row])
        heads = {part: scores[part].chosen[half % len(scores[part].chosen)] for part in scorer.parts if part in scores}
        examples.append(
            ProbeExample(
                data=data,
                item=group.item,
                side=group.side,
                words=list(scorer.sentences[number].words),
                query=to - int(rows.offset_N[row]),
                partner=to,
                looked={part: int(targets.targets[part][rows.from_N[row], head]) for part, head in heads.items()},
                head={part: targets.names([head])[0] for part, head in heads.items()},
            )
        )
    return examples


def left_out(treebank: EncodedTreebank) -> list[str]:
    """What to say before the probe runs: which sentences are left out."""
    skipped = treebank.skipped.most_common()
    return [f"{treebank.name}: {number:,} sentence(s) left out: {why}" for why, number in skipped]


def few_rows(result: TreebankResult) -> list[str]:
    """What to say after the probe ran: which relations are left out, and what would help."""
    names = {relation.item for relation in dropped_relations(result.scorer)}
    if not names:
        return []
    dropped = f"{len(names)} relation(s) left out from one side or both: fewer than {result.scorer.least} rows"
    return [f"{result.treebank.name}: {dropped}; more sentences or a smaller --least would include them"]


def _summary(result: TreebankResult) -> str:
    """The main result in one line: all relations together, from a word to its head word."""
    main = (ALL, TO_HEAD, ALL, "accuracy", None)
    accuracy = {
        row.kind: row.value for row in result.rows if (row.item, row.side, row.distance, row.measure, row.head) == main
    }
    shown = {kind: f"{title} {100 * accuracy[kind]:.1f} %" for kind, title in TITLES.items() if kind in accuracy}
    scorer, visible = result.scorer, ""
    if scorer.targets.causal:
        if SHUFFLED in shown:
            shown[SHUFFLED] += f" (uniform attention there {100 * accuracy[UNIFORM_SHUFFLED]:.1f} %)"
        scored, every = (len(rows.where(ALL, TO_HEAD)) for rows in (scorer.rows, scorer.every))
        visible = f" (those that come before: {scored:,} of {every:,})"
    return f"{result.treebank.name}: head words found by the best head{visible}: {', '.join(shown.values())}"


def _notes(results: Sequence[TreebankResult], aligned: bool) -> list[str]:
    """Sentences that keep a reader from misreading the numbers."""
    scorer = results[0].scorer
    notes = [
        "Punctuation and tokens of no word are left out; offsets and distances are counted over the words kept.",
        "Attention to a word is the sum over its tokens, attention from a word the mean; a word's attention to itself "
        "does not count.",
        f"`{EACH}`: rows of all relations together, each scored by the best head of its own relation over all "
        "distances; `all`: one head for all relations. A head chosen for one distance is given the distance with the "
        "question.",
    ]
    if scorer.targets.causal:
        scored, every = (sum(len(getattr(result.scorer, rows)) for result in results) for rows in ("rows", "every"))
        notes.append(
            "Words see only the words before them, so only relations whose partner comes before are scored: "
            f"{scored:,} of {every:,} rows. Never compare these numbers with those of a model that sees both sides."
        )
    notes += _notes_on_parts(scorer)
    if scorer.settings.selection == "same":
        notes.append("Heads and offsets are chosen on the very rows that they are scored on, which flatters them.")
    if aligned:
        notes.append("The treebanks hold the same sentences, matched by their ids, and are resampled together.")
    return notes


def _notes_on_parts(scorer: RelationScorer) -> list[str]:
    """What the parts of attention are, and what they are compared with."""
    parts, notes = scorer.targets.targets, list[str]()
    if POSITIONAL in parts:
        notes.append(
            "Position alone (black-box): attention on a one-token word repeated as often as the sentence has words, "
            f"averaged over {len(scorer.targets.repeated)} words. So it does not know how many tokens words have."
        )
    if CONTEXTUAL in parts:
        notes.append(
            f"Content alone (black-box): attention averaged over {scorer.settings.orders} permutations of the words."
        )
    if SHUFFLED in parts and len(parts) > 1:
        notes.append("A shuffled sentence is scored with the heads that were chosen on sentences as they are.")
    if SHUFFLED in parts and scorer.targets.causal:
        notes.append(
            "In a shuffled sentence only rows whose partner still comes before are scored. The uniform attention "
            "beside it is of these rows in that order; the other uniform attention is of sentences as they are."
        )
    if set(parts) - {SHUFFLED}:
        notes.append(
            f"Clearly better than the best offset: the interval of the difference is above 0, and p is below {SURE}. p "
            "is how probable so large a difference is if the signs of whole sentences' differences were random "
            "(two-sided, by the normal distribution), after Holm's correction over relations and sides."
        )
    if FULL in parts:
        notes.append(
            f"Syntactic, after Voita et al. (arXiv 1905.09418): full attention is at least {100 * SYNTACTIC:.0f} "
            "points more accurate than the best fixed offset."
        )
    return notes
