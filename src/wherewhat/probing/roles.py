"""The role probe: agent and patient are swapped; beside it a control swap and the other voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.grammar_trees import of_grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.corpora.sentence_pairs import SWAPPED_LABELS, main_predicate, usable_roles
from wherewhat.probing import role_claims
from wherewhat.probing.role_claims import CHANGES, ROLES
from wherewhat.probing.swap_probe.datasets import ProbeDataset
from wherewhat.probing.swap_probe.estimates import VOICE, Marks, ProbeEstimates
from wherewhat.probing.swap_probe.item_outputs import ItemOutputs
from wherewhat.probing.swap_probe.run import SwapProbe, run_probe
from wherewhat.probing.swap_probe.swapped_example import SentenceVersion, SwapItem, SwappedExample, version_of
from wherewhat.probing.swaps.role_swap import role_swap_control, swap_roles, why_not_swappable
from wherewhat.probing.swaps.swappable_roles import SYMMETRIC, Persons
from wherewhat.probing.swaps.voice import other_voice
from wherewhat.progress import OnStep, Say
from wherewhat.runs.registry import ProbeRun
from wherewhat.stats.verdict import ClaimResult


@dataclass(frozen=True)
class RoleSwapProbe(SwapProbe):
    """Agent and patient of one sentence of every example: the premise of built-in pairs, the hypothesis of others."""

    name: ClassVar[str] = "roles"
    need: ClassVar[str] = "roles"
    persons: tuple[str, ...] = ()  # nouns of written text that are persons, as names and pronouns are
    symmetric: tuple[str, ...] = ()  # more verbs with which a role swap changes nothing

    @property
    def swappable(self) -> Persons:
        """Who may be swapped in written text."""
        nouns, verbs = (frozenset(map(str.lower, words)) for words in (self.persons, self.symmetric))
        return Persons(nouns, SYMMETRIC | verbs)

    def refuse(self, example: AnnotatedExample) -> str | None:
        return why_not_swappable(_sentence(example), self.swappable)

    def items(self, data: ProbeDataset) -> list[SwapItem]:
        """The role swap, and the same roles in the other voice where the grammar knows it."""
        swapped, in_voice = list[SwappedExample](), list[SwappedExample]()
        for index, example in enumerate(data.examples):
            place, sentence = _place(example), _sentence(example)
            swap = swap_roles(sentence, self.swappable)
            if swap is None:
                continue
            changed = version_of(example, {place: SentenceVersion.by(swap.swap, swap.roles)})
            control = role_swap_control(sentence, swap, seed=self.seed, key=sentence.text)
            control_version = None if control is None else version_of(example, {place: SentenceVersion.by(control)})
            voice = (main_predicate(swap.sentence) or swap.sentence.preds[0]).voice
            swapped.append(SwappedExample(index, changed, control_version, new_label(data, example), voice))
            if (rewritten := other_voice(sentence)) is not None:
                spans = {role.role: (role.start, role.end) for role in usable_roles(sentence) or ()}
                version = version_of(example, {place: SentenceVersion(rewritten.words, roles=spans)})
                in_voice.append(SwappedExample(index, version, None, example.label or None, voice))
        voices = {each.index: each.swapped for each in in_voice}
        items = [SwapItem(ROLES, tuple(swapped), {VOICE: voices} if voices else {})]
        return [*items, SwapItem(VOICE, tuple(in_voice), {})] if voices else items

    def why_missing(self, item: str) -> str:
        return "roles cannot be swapped" if item == ROLES else "no other voice"

    def sides(self, outputs: ItemOutputs, items: Sequence[SwapItem]) -> Mapping[str, Marks]:
        """Every label, the examples whose label changes, and either voice."""
        examples, labels = outputs.item.examples, np.array(outputs.labels)
        sides: dict[str, Marks] = {}
        if outputs.library.data.labelled:
            sides |= {label: labels == label for label in sorted(set(labels))}
            changing = changing_examples(outputs.library.data)
            sides |= {CHANGES: np.array([each.index in changing for each in examples])} if changing else {}
        voices = np.array([each.voice or "" for each in examples])
        return sides | {f"{voice} voice": voices == voice for voice in sorted(set(voices) - {""})}

    def about(self, data: ProbeDataset, items: Sequence[SwapItem]) -> dict[str, Any]:
        where = "hypothesis" if _place(data.examples[0]) else "premise"
        return {"swapped_in": where if data.pairs else "sentence"}

    def claims(self, data: ProbeDataset, estimates: ProbeEstimates) -> list[ClaimResult]:
        return role_claims.claims_of(data, estimates)

    def summary(self, data: ProbeDataset, estimates: ProbeEstimates) -> str:
        return role_claims.summary_of(data, estimates)


def probe_roles(
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    persons: Sequence[str] = (),
    symmetric: Sequence[str] = (),
    max_sentences: int = 500,
    labels: Sequence[str] = (),
    seed: int = 0,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
) -> ProbeRun:
    """Swap agent and patient, and measure whether a model notices.

    `files` hold roles; without files, sentences or pairs of the grammar are used. `persons` are nouns of the files that
    are persons too; `symmetric` are more verbs with which a role swap changes nothing; `labels` are other names for a
    classifier's labels, in its order.
    """
    probe = RoleSwapProbe(max_sentences, tuple(labels), seed, tuple(persons), tuple(symmetric))
    return run_probe(probe, model, files, tokenizer=tokenizer, loading=loading, on_step=on_step, say=say)


def new_label(data: ProbeDataset, example: AnnotatedExample) -> str | None:
    """The right answer after the role swap, where a rule says it."""
    return SWAPPED_LABELS.get(data.question or "", {}).get(example.label.casefold())


def changing_examples(data: ProbeDataset) -> set[int]:
    """The indices of the examples whose right answer changes with the role swap."""
    labels = [(new_label(data, example), example.label.casefold()) for example in data.examples]
    return {index for index, (new, old) in enumerate(labels) if new not in (None, old)}


def _place(example: AnnotatedExample) -> int:
    """Which sentence is changed: the premise of built-in pairs, the hypothesis of others."""
    return 0 if of_grammar(example.sentences[0]) else len(example.sentences) - 1


def _sentence(example: AnnotatedExample) -> Sentence:
    return example.sentences[_place(example)]
