"""The walk of every probe of swapped sentences: open a model, gather cases, swap, read, count, tell.

What its manifest holds beside where everything came from:

- `probe`, `way` (labels, masked, next or states), `asked` (what that means), `said` (the main result in a line)
- `settings`, `model` (with the `labels` of a classifier), `measures` (how to read each)
- `data`: a list of name, source, hash, question, labelled, pairs, sentences, words, labels, `swapped in`, items (by
  item sentences, controls, and by reason which others are not among them), `every size` (of words), skipped (by
  reason), `not needed` (how many more could have been used)
- `examples`: data, item, where, chosen (first, most moved), label, new, sentences (words, swapped, order, spans,
  control, control_order, control_spans), said (by original, swapped and control: label, nats, distance)
- `claims`: claim, published, ours, verdict, why, data, item
- `notes`: sentences
"""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.capture.outputs.mean_states import fits
from wherewhat.corpora.cases import Case
from wherewhat.probing.swapped.alone import without_reading
from wherewhat.probing.swapped.data import TOO_LONG, Choosing, Data, gather, learnt_pairs
from wherewhat.probing.swapped.describe import Claim, Found
from wherewhat.probing.swapped.examples import examples
from wherewhat.probing.swapped.measures import about_measures
from wherewhat.probing.swapped.numbers import Marks, Measured, Resampling
from wherewhat.probing.swapped.outcome import Item, Outcome, listen, measured, outcome
from wherewhat.probing.swapped.reading import ASKED, Reader, open_reader
from wherewhat.probing.swapped.trials import Reading, Trial, original_of, texts_of
from wherewhat.probing.waiting import OnStep, Say
from wherewhat.profiling.describe import about_model
from wherewhat.runs.probed import Probed
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.schema import PROBE, frame

STRANGE = 0.05  # the share of unknown words from which it has to be said
BLANKS = "Words are written with blanks between, in the original as in every swap, so that only their order differs."


@dataclass(frozen=True)
class Swapping(ABC):
    """A way to put words in other places, and what there is to say of it. Members add their own settings."""

    max_sentences: int = 500
    labels: tuple[str, ...] = ()  # other names for a classifier's labels
    seed: int = 0
    name: ClassVar[str]
    need: ClassVar[str]  # what files have to hold

    @abstractmethod
    def refuse(self, case: Case) -> str | None:
        """Why a case cannot be swapped, if it cannot."""

    @abstractmethod
    def items(self, data: Data) -> list[Item]:
        """Every kind of swap, with the cases that it can be done to."""

    @abstractmethod
    def lacking(self, item: str) -> str:
        """Why other cases are not among them."""

    @abstractmethod
    def sides(self, found: Outcome, items: Sequence[Item]) -> Mapping[str, Marks]:
        """Some of the cases by themselves."""

    @abstractmethod
    def about(self, data: Data, items: Sequence[Item]) -> dict[str, Any]:
        """What the manifest says of some data besides."""

    @abstractmethod
    def claims(self, data: Data, found: Found) -> list[Claim]:
        """What the numbers say, with verdicts."""

    @abstractmethod
    def said(self, data: Data, found: Found) -> str:
        """The main result in a few words."""


@dataclass(frozen=True)
class Study:
    """Everything that came of some data."""

    data: Data
    items: tuple[Item, ...]
    rows: tuple[Measured, ...]
    examples: tuple[dict[str, Any], ...]
    lacking: Mapping[str, Mapping[str, int]]  # by item, why other cases are not among its own, and how many
    unknown: float  # the share of tokens that the model does not know

    @property
    def found(self) -> Found:
        """The numbers, to be asked for by name."""
        return Found(self.rows)


def put(
    swapping: Swapping,
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
) -> Probed:
    """Put a probe to a model, on every file or on our own sentences."""
    began = time.perf_counter()
    reader = open_reader(model, tokenizer=tokenizer, loading=loading or LoadSettings(), labels=swapping.labels)
    tell = say or (lambda sentence: None)
    tell(ASKED[reader.way])
    choosing = Choosing(swapping.max_sentences, swapping.seed, swapping.need, swapping.refuse)
    sources = gather(reader, [Path(file) for file in files], choosing)
    for sentence in (sentence for data in sources for sentence in [*_left_out(data), *_unjudged(reader, data)]):
        tell(sentence)
    studies = [_study(swapping, reader, data, on_step) for data in sources]
    settings = asdict(swapping) | (asdict(loading or LoadSettings()) if isinstance(model, str) else {})
    manifest = {
        **provenance(),
        "command": None,
        **_about(swapping, reader, studies),
        "settings": settings,
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
    }
    rows = [_row(swapping.name, reader, study.data, row) for study in studies for row in study.rows]
    return Probed(frame(rows, PROBE), manifest)


def _study(swapping: Swapping, reader: Reader, data: Data, on_step: OnStep | None) -> Study:
    """Swap, read and count."""

    def on_text(done: int, of: int) -> None:
        if on_step is not None:
            on_step(done, of, data.name)

    made = swapping.items(data)
    items = [_readable(reader, item) for item in made]
    library = listen(reader, data, items, on_text=on_text)
    resampling = Resampling(swapping.seed, f"{swapping.name} {data.name}")
    rows, shown = list[Measured](), list[dict[str, Any]]()
    for item in (item for item in items if item.trials):
        found = outcome(library, item)
        sides = swapping.sides(found, items)
        rows += measured(found, sides, resampling) + without_reading(found, sides)
        shown += examples(found)
    lacking = {
        item.name: {
            swapping.lacking(item.name): len(data.cases) - len(item.trials),
            f"{TOO_LONG} once swapped": len(item.trials) - len(read.trials),
        }
        for item, read in zip(made, items, strict=True)
    }
    unknown = reader.unknown([original_of(case) for case in data.cases])
    return Study(data, tuple(items), tuple(rows), tuple(shown), lacking, unknown)


def _readable(reader: Reader, item: Item) -> Item:
    """Without swaps that are longer than the model allows: other words may be cut into more tokens."""

    def fitting(reading: Reading | None) -> Reading | None:
        return reading if reading is not None and fits(reader.model, texts_of(reading)) else None

    trials = [replace(trial, control=fitting(trial.control)) for trial in item.trials if fitting(trial.swapped)]
    beside = {
        kind: {case: reading for case, reading in of.items() if fitting(reading)} for kind, of in item.beside.items()
    }
    return Item(item.name, tuple(trials), beside)


def _about(swapping: Swapping, reader: Reader, studies: Sequence[Study]) -> dict[str, Any]:
    """What the manifest says of the model, of what it was asked, and of what came of it."""
    model, parameter = reader.model, next(reader.model.module.parameters())
    about = {**about_model(model, layers=model.layers or 0, heads=0), "labels": list(reader.labels)}
    del about["heads"]  # nobody looked at heads
    measures = dict.fromkeys(row.measure for study in studies for row in study.rows)
    return {
        "probe": swapping.name,
        "model": about,
        "way": reader.way,
        "asked": ASKED[reader.way],
        "seed": swapping.seed,
        "dtype": str(parameter.dtype).removeprefix("torch."),
        "device": str(parameter.device),
        "data": [_about_data(swapping, study) for study in studies],
        "measures": about_measures(measures),
        "said": "; ".join(swapping.said(study.data, study.found) for study in studies),
        "claims": [claim.told for study in studies for claim in swapping.claims(study.data, study.found)],
        "examples": [example for study in studies for example in study.examples],
        "notes": [BLANKS, *reader.notes, *(note for study in studies for note in _notes(reader, study))],
    }


def _about_data(swapping: Swapping, study: Study) -> dict[str, Any]:
    data, cases = study.data, study.data.cases
    return {
        "name": data.name,
        "source": data.source,
        "hash": data.hash,
        "question": data.question,
        "labelled": data.labelled,
        "pairs": data.pairs,
        "sentences": len(cases),
        "words": sum(len(sentence.words) for case in cases for sentence in case.sentences),
        "labels": dict(sorted(Counter(case.label for case in cases).items())) if data.labelled else {},
        "items": {item.name: _counted(item.trials, study.lacking[item.name]) for item in study.items},
        "skipped": _some(dict(data.skipped)),
        **_some({"not needed": data.spare}),
        **swapping.about(data, study.items),
    }


def _counted(trials: Sequence[Trial], lacking: Mapping[str, int]) -> dict[str, Any]:
    told: dict[str, Any] = {"sentences": len(trials), "controls": sum(trial.control is not None for trial in trials)}
    return told | ({"left out": left} if (left := _some(lacking)) else {})


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    """Without those that are 0."""
    return {why: many for why, many in counts.items() if many}


def _left_out(data: Data) -> list[str]:
    """What has to be known on the screen: sentences that were too long."""
    many = dict(data.skipped).get(TOO_LONG, 0)
    return [f"{data.name}: {many:,} sentences are {TOO_LONG} and were left out"] if many else []


def _unjudged(reader: Reader, data: Data) -> list[str]:
    """The same of a classifier whose answers cannot be held against right ones, or that is asked for what it is not."""
    found = list[str]()
    if reader.labels and not data.labelled:
        found.append(
            f"{data.name} has no labels that the model gives ({', '.join(reader.labels)}), so it is only seen whether "
            "its answers stay; give labelled cases, or say with --labels what its labels are called"
        )
    if (learnt := learnt_pairs(reader)) and not data.pairs:
        found.append(
            f"{data.name} has single sentences and the model learnt to judge pairs ({', '.join(learnt)}), so its "
            "answers mean little; give pairs"
        )
    return found


def _notes(reader: Reader, study: Study) -> list[str]:
    """Plain sentences that keep a reader from misreading the numbers."""
    found, name = list[str](), study.data.name
    found += [f"{sentence}." for sentence in [*_left_out(study.data), *_unjudged(reader, study.data)]]
    if study.unknown > STRANGE:
        found.append(f"{name}: {study.unknown:.0%} of the words are unknown to the model, which reads them all alike.")
    if study.data.pairs:
        found.append(f"{name}: distances are those of both sentences of a pair, read one after the other.")
    return found


def _row(probe: str, reader: Reader, data: Data, row: Measured) -> tuple[object, ...]:
    """A row of probe.parquet."""
    place = (probe, reader.model.id, data.name, row.item, None, None, row.side, row.kind, None, row.measure)
    return (*place, row.value, row.low, row.high, row.count)
