"""An attribution as rows of relevance.parquet, as sections of a manifest, and as a run of its own."""

from collections.abc import Iterator, Mapping

from torch import Tensor

from wherewhat.attribution.explain import METHODS
from wherewhat.attribution.result import AGGREGATES, TOKEN, Attribution
from wherewhat.attribution.sources import ROTATION
from wherewhat.runs.registry import AttributionRun
from wherewhat.tables.manifest.attribution import (
    AggregateSection,
    AttributionManifest,
    ExplainedSection,
    LedgerEntrySection,
    LedgerSection,
    MethodSection,
    RotaryFrequency,
)
from wherewhat.tables.schema import RELEVANCE, RELEVANCE_DISTANCES, frame

COMBINED, POSITION = "combined", "position"  # sources of rows: tokens and positions together; positions of a head
PARTS = ("content", "position")  # of logits
Row = tuple[object, ...]


def relevance_rows(attribution: Attribution, *, text: int, output: int) -> Iterator[Row]:
    """The relevance of tokens, of positions by source and layer, and both combined; then by head and by frequency."""
    method, target = attribution.method, attribution.output.name
    by_slot: Mapping[tuple[str, int | None], Tensor] = {
        (TOKEN, None): attribution.token_T,
        **attribution.parts,
        (COMBINED, None): attribution.scores_T,
    }
    for (source, layer), values_T in by_slot.items():
        for slot, (token, value) in enumerate(zip(attribution.tokens, values_T.tolist(), strict=True)):
            yield text, token, slot, source, layer, method, value, output, target, None, None
    for layer, head, value in attribution.heads.iter_rows():
        yield text, None, None, POSITION, layer, method, value, output, target, head, None
    for layer, frequency, _, value in attribution.frequencies.iter_rows():
        yield text, None, None, ROTATION, layer, method, value, output, target, None, frequency


def distance_rows(attribution: Attribution, *, text: int, output: int) -> Iterator[Row]:
    """The relevance of logits by layer and distance, of content and of position."""
    for layer, distance, *values in attribution.distances.iter_rows():
        for part, value in zip(PARTS, values, strict=True):
            yield text, output, attribution.method, layer, distance, part, value


def frequency_sections(attribution: Attribution) -> list[RotaryFrequency]:
    """How fast every rotary frequency turns, where that does not depend on the text."""
    rows = attribution.frequencies.drop_nulls("theta").iter_rows()
    return [RotaryFrequency(layer=layer, frequency=frequency, theta=theta) for layer, frequency, theta, _ in rows]


def explained_section(attribution: Attribution, *, text: int, likeliest: str) -> ExplainedSection:
    """What was explained; `likeliest` is what the model itself would have answered."""
    output = attribution.output
    return ExplainedSection(
        text=text,
        kind=output.kind,
        name=output.name,
        index=output.index,
        slot=output.slot,
        logit=output.logit,
        probability=output.probability,
        likeliest=None if likeliest == output.name else likeliest,
    )


def ledger_sections(attribution: Attribution, *, output: int) -> list[LedgerSection]:
    """Where relevance went, node by node; nothing for a method that passes nothing back that could be added up."""
    ledger = attribution.ledger
    if ledger is None:
        return []
    parts = {name: getattr(ledger, name) for name in ("tokens", "positions", "softmax", "biases", "others", "flow")}
    entries = [LedgerEntrySection(node=each.node, layer=each.layer, value=each.value) for each in ledger.entries]
    section = LedgerSection(
        output=output,
        method=attribution.method,
        logit=ledger.logit,
        **parts,
        rest=ledger.rest,
        tolerance=ledger.tolerance,
        balances=ledger.balances(),
        entries=entries,
    )
    return [section]


def method_section(name: str) -> MethodSection:
    """How a method passes relevance back."""
    method = METHODS[name]
    return MethodSection(about=method.about, positions=method.positions)


def aggregate_section(name: str) -> AggregateSection:
    """How tokens and positions are combined."""
    return AggregateSection(name=name, about=AGGREGATES[name].about)


def run_of(attribution: Attribution) -> AttributionRun:
    """A single attribution as a run, to be shown; its manifest does not know the model."""
    manifest = AttributionManifest(
        outputs=[explained_section(attribution, text=0, likeliest=attribution.output.name)],
        methods={attribution.method: method_section(attribution.method)},
        aggregate=aggregate_section(attribution.aggregate),
        ledgers=ledger_sections(attribution, output=0),
    )
    relevance = frame(relevance_rows(attribution, text=0, output=0), RELEVANCE)
    distances = frame(distance_rows(attribution, text=0, output=0), RELEVANCE_DISTANCES)
    return AttributionRun(relevance, manifest, distances)
