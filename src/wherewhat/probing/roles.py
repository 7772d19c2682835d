"""The probe of exchanged roles: agent and patient change places; beside it a control and the other voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.corpora.cases import Case
from wherewhat.corpora.pairs import EXCHANGED, main_predicate, usable_roles
from wherewhat.corpora.regrown import of_grammar
from wherewhat.corpora.sentence import Sentence
from wherewhat.names import check_keywords
from wherewhat.probing import role_claims
from wherewhat.probing.role_claims import CHANGES, ROLES, VOICE
from wherewhat.probing.swapped.data import Data
from wherewhat.probing.swapped.describe import Claim, Found
from wherewhat.probing.swapped.numbers import Marks
from wherewhat.probing.swapped.outcome import Item, Outcome
from wherewhat.probing.swapped.probe import Swapping, put
from wherewhat.probing.swapped.trials import Reading, Trial, Turned
from wherewhat.probing.swaps.exchanging import Exchange, exchange_control, exchange_roles, why_not
from wherewhat.probing.swaps.persons import SYMMETRIC, Persons
from wherewhat.probing.swaps.voices import other_voice
from wherewhat.probing.waiting import OnStep, Say
from wherewhat.runs.probed import Probed

NOT_ALIKE = "could not be exchanged"


@dataclass(frozen=True)
class Exchanges(Swapping):
    """Agent and patient of one sentence of every case: of our own pairs the premise, of others the hypothesis."""

    name: ClassVar[str] = "roles"
    need: ClassVar[str] = "roles"
    persons: tuple[str, ...] = ()  # nouns of written text that are persons, as names and pronouns are
    symmetric: tuple[str, ...] = ()  # more verbs in which both take part alike

    @property
    def who(self) -> Persons:
        """Who may change places in written text."""
        nouns, verbs = (frozenset(map(str.lower, words)) for words in (self.persons, self.symmetric))
        return Persons(nouns, SYMMETRIC | verbs)

    def refuse(self, case: Case) -> str | None:
        """A case whose agent and patient cannot change places."""
        return why_not(_sentence(case), self.who)

    def items(self, data: Data) -> list[Item]:
        """The exchange, and where the grammar knows it the same roles in the other voice."""
        exchanges = {number: exchange_roles(_sentence(case), self.who) for number, case in enumerate(data.cases)}
        trials = [self._trial(data, number, found) for number, found in exchanges.items() if found is not None]
        voices = {trial.case: reading for trial in trials if (reading := _in_other_voice(data.cases[trial.case]))}
        items = [Item(ROLES, tuple(trials), {VOICE: voices} if voices else {})]
        if voices:
            turned = [
                Trial(trial.case, voices[trial.case], None, data.cases[trial.case].label or None, trial.voice)
                for trial in trials
                if trial.case in voices
            ]
            items.append(Item(VOICE, tuple(turned), {}))
        return items

    def lacking(self, item: str) -> str:
        return NOT_ALIKE if item == ROLES else "no other voice"

    def sides(self, found: Outcome, items: Sequence[Item]) -> Mapping[str, Marks]:
        """Every label, the cases whose label changes, and either voice."""
        trials, labels = found.item.trials, np.array(found.labels)
        sides: dict[str, Marks] = {}
        if found.library.data.labelled:
            sides |= {label: labels == label for label in sorted(set(labels))}
            changing = changing_cases(found.library.data)
            sides |= {CHANGES: np.array([trial.case in changing for trial in trials])} if changing else {}
        voices = np.array([trial.voice or "" for trial in trials])
        return sides | {f"{voice} voice": voices == voice for voice in sorted(set(voices) - {""})}

    def about(self, data: Data, items: Sequence[Item]) -> dict[str, Any]:
        where = "hypothesis" if _place(data.cases[0]) else "premise"
        return {"swapped in": where if data.pairs else "sentence"}

    def claims(self, data: Data, found: Found) -> list[Claim]:
        return role_claims.claims_of(data, found)

    def said(self, data: Data, found: Found) -> str:
        return role_claims.said_of(data, found)

    def _trial(self, data: Data, number: int, exchange: Exchange) -> Trial:
        case = data.cases[number]
        sentence = _sentence(case)
        control = exchange_control(sentence, exchange, seed=self.seed, key=sentence.text)
        return Trial(
            number,
            _turned(case, Turned.by(exchange.swap, exchange.roles)),
            None if control is None else _turned(case, Turned.by(control)),
            new_label(data, case),
            (main_predicate(exchange.sentence) or exchange.sentence.preds[0]).voice,
        )


def probe_roles(
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
    **settings: Any,
) -> Probed:
    """Let agent and patient change places and see whether a model notices.

    `files` hold roles; without any, sentences or pairs of the grammar are used. `settings` are the fields of
    `Exchanges`.
    """
    check_keywords(probe_roles, settings, fills=Exchanges)
    return put(Exchanges(**settings), model, files, tokenizer=tokenizer, loading=loading, on_step=on_step, say=say)


def new_label(data: Data, case: Case) -> str | None:
    """The right answer after the exchange, where a rule says it."""
    rule = EXCHANGED.get(data.question or "", {})
    return rule.get(case.label.casefold())


def changing_cases(data: Data) -> set[int]:
    """The cases whose right answer is another after the exchange."""
    new = {number: (new_label(data, case), case.label.casefold()) for number, case in enumerate(data.cases)}
    return {number for number, (label, old) in new.items() if label not in (None, old)}


def _place(case: Case) -> int:
    """Which sentence is changed: the premise of our own pairs, the hypothesis of others."""
    return 0 if of_grammar(case.sentences[0]) else len(case.sentences) - 1


def _sentence(case: Case) -> Sentence:
    return case.sentences[_place(case)]


def _turned(case: Case, turned: Turned) -> Reading:
    """All sentences of a case, one of them changed."""
    changed = _place(case)
    return tuple(
        turned if place == changed else Turned.unmoved(sentence) for place, sentence in enumerate(case.sentences)
    )


def _in_other_voice(case: Case) -> Reading | None:
    said, roles = other_voice(_sentence(case)), usable_roles(_sentence(case)) or ()
    named = {role.role: (role.start, role.end) for role in roles}
    return None if said is None else _turned(case, Turned(said.words, roles=named))
