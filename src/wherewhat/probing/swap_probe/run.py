"""Run a swap probe: open a model, load examples, swap, read, measure, and write down what came of it."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.capture.outputs.text_outputs import fits
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.probing.swap_probe.datasets import TOO_LONG, ExampleFilter, ProbeDataset, learnt_pairs, load_datasets
from wherewhat.probing.swap_probe.estimates import Marks, ProbeEstimate, ProbeEstimates
from wherewhat.probing.swap_probe.examples import shown_examples
from wherewhat.probing.swap_probe.item_outputs import ItemOutputs, estimate_item, read_all_texts
from wherewhat.probing.swap_probe.measures import QUESTIONS, SCALES
from wherewhat.probing.swap_probe.probed_model import READOUTS, ProbedModel, open_probed_model
from wherewhat.probing.swap_probe.swapped_example import ExampleVersion, SwapItem, original_texts, texts_of
from wherewhat.profiling.describe import model_section
from wherewhat.progress import OnStep, Say
from wherewhat.runs.registry import ProbeRun
from wherewhat.stats.bootstrap import NamedResampling
from wherewhat.stats.verdict import ClaimResult
from wherewhat.tables.manifest.probe import (
    ItemCounts,
    MeasureSection,
    ProbeClaim,
    ProbeData,
    ProbeExample,
    ProbeManifest,
)
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.schema import PROBE, frame

MANY_UNKNOWN = 0.05  # the share of unknown words from which a note says so
BLANKS = "Words are joined by blanks, in the original and in every swap, so that only their order differs."


@dataclass(frozen=True)
class SwapProbe(ABC):
    """A way to put words in other places, and the claims about it. Members add their own settings."""

    max_sentences: int = 500
    labels: tuple[str, ...] = ()  # other names for a classifier's labels
    seed: int = 0
    name: ClassVar[str]
    need: ClassVar[str]  # what files have to hold

    @abstractmethod
    def refuse(self, example: AnnotatedExample) -> str | None:
        """Why an example cannot be swapped, if it cannot."""

    @abstractmethod
    def items(self, data: ProbeDataset) -> list[SwapItem]:
        """Every kind of swap, with the examples that it applies to."""

    @abstractmethod
    def why_missing(self, item: str) -> str:
        """Why other examples are not among an item's."""

    @abstractmethod
    def sides(self, outputs: ItemOutputs, items: Sequence[SwapItem]) -> Mapping[str, Marks]:
        """Subsets of the examples that have estimates of their own, by name."""

    @abstractmethod
    def about(self, data: ProbeDataset, items: Sequence[SwapItem]) -> dict[str, Any]:
        """Further fields of the manifest's section about a dataset."""

    @abstractmethod
    def claims(self, data: ProbeDataset, estimates: ProbeEstimates) -> list[ClaimResult]:
        """What the estimates say, with verdicts."""

    @abstractmethod
    def summary(self, data: ProbeDataset, estimates: ProbeEstimates) -> str:
        """The main result in one line."""


@dataclass(frozen=True)
class SwapResult:
    """Everything that came of one dataset."""

    data: ProbeDataset
    items: tuple[SwapItem, ...]
    rows: tuple[ProbeEstimate, ...]
    examples: tuple[ProbeExample, ...]
    missing: Mapping[str, Mapping[str, int]]  # by item, why other examples are not among its own, and how many
    unknown: float  # the share of tokens that are not in the model's vocabulary


def run_probe(
    probe: SwapProbe,
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
) -> ProbeRun:
    """Run a swap probe on a model, on every file or on sentences of the grammar."""
    began = time.perf_counter()
    loading = loading or LoadSettings()
    probed = open_probed_model(model, tokenizer=tokenizer, loading=loading, labels=probe.labels)
    say = say or (lambda sentence: None)
    say(READOUTS[probed.readout])
    choice = ExampleFilter(probe.max_sentences, probe.seed, probe.need, probe.refuse)
    datasets = load_datasets(probed, [Path(file) for file in files], choice)
    for warning in (warning for data in datasets for warning in _warnings(probed, data)):
        say(warning)
    results = [_run_on(probe, probed, data, on_step) for data in datasets]
    manifest = _manifest(probe, probed, results, loading if isinstance(model, str) else None)
    rows = list[tuple[object, ...]]()
    for data, row in ((result.data, row) for result in results for row in result.rows):
        about = (probe.name, probed.model.id, data.name, row.item, None, None, row.side, row.kind, None, row.measure)
        rows.append((*about, row.value, row.low, row.high, row.count))
    seconds = round(time.perf_counter() - began, 3)
    return ProbeRun(frame(rows, PROBE), replace(manifest, seconds=seconds, peak_memory_bytes=peak_memory()))


def _run_on(probe: SwapProbe, model: ProbedModel, data: ProbeDataset, on_step: OnStep | None) -> SwapResult:
    """Swap, read and measure one dataset."""

    def on_text(done: int, of: int) -> None:
        if on_step is not None:
            on_step(done, of, data.name)

    made = probe.items(data)
    items = [_readable(model, item) for item in made]
    library = read_all_texts(model, data, items, on_text=on_text)
    resampling = NamedResampling(probe.seed, f"{probe.name} {data.name}")
    rows, shown = list[ProbeEstimate](), list[ProbeExample]()
    for item in (item for item in items if item.examples):
        outputs = ItemOutputs(library, item)
        sides = probe.sides(outputs, items)
        rows += estimate_item(outputs, sides, resampling)
        shown += shown_examples(outputs)
    missing = {
        item.name: {
            probe.why_missing(item.name): len(data.examples) - len(item.examples),
            f"{TOO_LONG} once swapped": len(item.examples) - len(read.examples),
        }
        for item, read in zip(made, items, strict=True)
    }
    unknown = model.unknown_share([original_texts(example) for example in data.examples])
    return SwapResult(data, tuple(items), tuple(rows), tuple(shown), missing, unknown)


def _readable(model: ProbedModel, item: SwapItem) -> SwapItem:
    """The item without swaps that are longer than the model allows: other words may be cut into more tokens."""

    def fitting(version: ExampleVersion | None) -> ExampleVersion | None:
        return version if version is not None and fits(model.model, texts_of(version)) else None

    examples = [replace(each, control=fitting(each.control)) for each in item.examples if fitting(each.swapped)]
    beside = {
        kind: {index: version for index, version in of.items() if fitting(version)} for kind, of in item.beside.items()
    }
    return SwapItem(item.name, tuple(examples), beside)


def _manifest(
    probe: SwapProbe, probed: ProbedModel, results: Sequence[SwapResult], loading: LoadSettings | None
) -> ProbeManifest:
    """Everything but how long it took; the notes keep a reader from misreading the numbers."""
    parameter = next(probed.model.module.parameters())
    section = model_section(probed.model, layers=probed.model.layers or 0, heads=0)
    estimates = [(result.data, ProbeEstimates(result.rows)) for result in results]
    measures = dict[str, MeasureSection]()
    for measure in dict.fromkeys(row.measure for result in results for row in result.rows):
        unit, low, high = SCALES[measure]
        measures[measure] = MeasureSection(asks=QUESTIONS[measure], low=low, high=high, unit=unit)
    notes = [BLANKS, *probed.notes]
    for result in results:
        name = result.data.name
        notes += [f"{sentence}." for sentence in _warnings(probed, result.data)]
        if result.unknown > MANY_UNKNOWN:
            notes.append(
                f"{name}: {result.unknown:.0%} of the words are unknown to the model, which reads them all alike."
            )
        if result.data.pairs:
            notes.append(f"{name}: distances are of both sentences of a pair, read one after the other.")
    return ProbeManifest(
        **provenance(),
        probe=probe.name,
        model=replace(section, heads=None, labels=list(probed.labels)),  # no head was read
        way=probed.readout,
        question=READOUTS[probed.readout],
        settings=asdict(probe) | (asdict(loading) if loading is not None else {}),
        seed=probe.seed,
        dtype=str(parameter.dtype).removeprefix("torch."),
        device=str(parameter.device),
        data=[_data_section(probe, result) for result in results],
        measures=measures,
        summary="; ".join(probe.summary(data, rows) for data, rows in estimates),
        claims=[ProbeClaim(**claim.entry) for data, rows in estimates for claim in probe.claims(data, rows)],
        examples=[example for result in results for example in result.examples],
        notes=notes,
    )


def _data_section(probe: SwapProbe, result: SwapResult) -> ProbeData:
    data, examples = result.data, result.data.examples
    return ProbeData(
        name=data.name,
        source=data.source,
        hash=data.hash,
        question=data.question,
        labelled=data.labelled,
        pairs=data.pairs,
        sentences=len(examples),
        words=sum(len(sentence.words) for example in examples for sentence in example.sentences),
        labels=dict(sorted(Counter(example.label for example in examples).items())) if data.labelled else {},
        items={
            item.name: ItemCounts(
                sentences=len(item.examples),
                controls=sum(each.control is not None for each in item.examples),
                left_out={why: number for why, number in result.missing[item.name].items() if number},
            )
            for item in result.items
        },
        skipped=dict(data.skipped),
        not_needed=data.spare or None,
        **probe.about(data, result.items),
    )


def _warnings(probed: ProbedModel, data: ProbeDataset) -> list[str]:
    """What has to be said while the probe runs: sentences left out, and answers that cannot be judged."""
    warnings = list[str]()
    if number := dict(data.skipped).get(TOO_LONG, 0):
        warnings.append(f"{data.name}: {number:,} sentences are {TOO_LONG} and were left out")
    if probed.labels and not data.labelled:
        warnings.append(
            f"{data.name} has none of the model's labels ({', '.join(probed.labels)}), so only whether its answers "
            "stay is measured; give labelled examples, or say with --labels what its labels are called"
        )
    if (learnt := learnt_pairs(probed)) and not data.pairs:
        warnings.append(
            f"{data.name} has single sentences and the model learnt to judge pairs ({', '.join(learnt)}), so its "
            "answers mean little; give pairs"
        )
    return warnings
