"""Attribute outputs of a model for several texts, targets and methods, as one run."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl
import torch
from torch import Tensor, nn

from wherewhat.attribution.attribute import attribute, open_model
from wherewhat.attribution.evaluation.of_run import evaluate_run
from wherewhat.attribution.evaluation.settings import EvaluationSettings
from wherewhat.attribution.explain import METHODS
from wherewhat.attribution.outputs import kind_of
from wherewhat.attribution.readings import own_readings, readings_of
from wherewhat.attribution.relevance_table import (
    Row,
    aggregate_section,
    distance_rows,
    explained_section,
    frequency_sections,
    ledger_sections,
    method_section,
    relevance_rows,
)
from wherewhat.attribution.result import AGGREGATES, Attribution
from wherewhat.attribution.targets import Question, questions_of
from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.capture.outputs.language_model import MASKED, NEXT
from wherewhat.capture.outputs.text_outputs import LABELS, labels_of
from wherewhat.capture.tokens.encode import OWN, token_names
from wherewhat.errors import UserError, suggests_fields
from wherewhat.names import look_up
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.describe import model_section, texts_section
from wherewhat.progress import OnStep, shows_progress
from wherewhat.runs.registry import AttributionRun
from wherewhat.tables.manifest.attribution import (
    AttributionManifest,
    ExplainedSection,
    LedgerSection,
    RotaryFrequency,
)
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.sections import ModelSection
from wherewhat.tables.schema import RELEVANCE, RELEVANCE_DISTANCES, frame
from wherewhat.tables.texts import Origin, Text


@suggests_fields
@dataclass(frozen=True)
class AttributionSettings:
    """What is explained of every text, and how."""

    targets: tuple[str | int, ...] = ()  # tokens, labels, "next", "label", "mask"; none: what the model predicts
    continuation: str | None = None  # explain each of its tokens instead
    methods: tuple[str, ...] = ("pa-lrp",)
    aggregate: str = "signed"
    max_texts: int = 10
    max_tokens: int | None = None  # cut texts into windows of as many tokens; none: a text must fit
    add_bos: bool = False
    seed: int = 0
    evaluation: EvaluationSettings | None = None  # compare methods on the same texts, and on texts of known truth

    def __post_init__(self) -> None:
        for method in self.methods:
            look_up("method", method, METHODS)
        look_up("aggregate", self.aggregate, AGGREGATES)
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise UserError(f"methods are '{','.join(self.methods)}'; name at least one, and none twice")
        if self.max_texts < 1:
            raise UserError(f"max_texts is {self.max_texts}; read at least 1 text")


@shows_progress
def attribute_texts(
    model: str | nn.Module | LoadedModel,
    texts: Iterable[str | Text | Tensor] | None = None,
    settings: AttributionSettings | None = None,
    *,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    progress: bool = False,
    on_step: OnStep | None = None,
    source: str | Origin = "handed in",
) -> AttributionRun:
    """Which tokens and positions of texts outputs of a model are made of: what `wherewhat attribute` measures.

    Without texts, a net of ours reads sequences of its own task. `progress` shows how far it has come, or `on_step` is
    called.
    """
    began = time.perf_counter()
    settings, loading = settings or AttributionSettings(), loading or LoadSettings()
    loaded = open_model(model, tokenizer, loading)
    count, window = settings.max_texts, settings.max_tokens
    if texts is None:
        if settings.add_bos:
            raise UserError(f"{loaded.id} is to read texts of its own, which begin as they are; leave out --add-bos")
        readings, encoded = own_readings(loaded, count=count, window=window, seed=settings.seed)
    else:
        readings, encoded = readings_of(loaded, texts, count=count, window=window, add_bos=settings.add_bos)
    questions = list(questions_of(loaded, readings, settings.targets, settings.continuation))
    tables, manifest = _explained(loaded, questions, settings, on_step)
    if settings.evaluation is not None:
        own = texts is None
        evaluation, section = evaluate_run(loaded, questions, settings.evaluation, own=own, on_step=on_step)
        manifest = replace(manifest, evaluation=section, notes=[*manifest.notes, *evaluation.notes])
        tables |= {
            "evaluation": evaluation.scores,
            "evaluation_differences": evaluation.differences,
            "evaluation_curves": evaluation.curves,
        }
    parameter = next(loaded.module.parameters())
    manifest = replace(
        manifest,
        **provenance(),
        model=_model_section(loaded),
        causal=_is_causal(loaded),
        texts=texts_section(loaded, encoded, OWN if texts is None else source),
        seed=settings.seed,
        dtype=str(parameter.dtype).removeprefix("torch."),
        device=str(parameter.device),
        settings={**asdict(settings), **(asdict(loading) if isinstance(model, str) else {})},
        notes=list(dict.fromkeys([*loaded.notes, *encoded.notes, *manifest.notes])),
        seconds=round(time.perf_counter() - began, 3),
        peak_memory_bytes=peak_memory(),
    )
    return AttributionRun(manifest=manifest, **tables)


def _explained(
    model: LoadedModel, questions: Sequence[Question], settings: AttributionSettings, on_step: OnStep | None
) -> tuple[dict[str, pl.DataFrame], AttributionManifest]:
    """Every question by every method: the tables, and what there is to say of outputs and ledgers."""
    rows: list[Row] = []
    distances: list[Row] = []
    outputs: list[ExplainedSection] = []
    ledgers: list[LedgerSection] = []
    frequencies: list[RotaryFrequency] = []
    for done, question in enumerate(questions):
        attributions = [_attributed(model, question, method, settings) for method in settings.methods]
        output = explained_section(attributions[0], text=question.text, likeliest=_likeliest(model, attributions[0]))
        if output not in outputs:  # else a target is what the model predicts anyway
            for attribution in attributions:
                rows += relevance_rows(attribution, text=question.text, output=len(outputs))
                distances += distance_rows(attribution, text=question.text, output=len(outputs))
                ledgers += ledger_sections(attribution, output=len(outputs))
                frequencies = frequencies or frequency_sections(attribution)
            outputs.append(output)
        if on_step is not None:
            on_step(done + 1, len(questions), output.kind)
    manifest = AttributionManifest(
        outputs=outputs,
        methods={name: method_section(name) for name in settings.methods},
        aggregate=aggregate_section(settings.aggregate),
        ledgers=ledgers,
        frequencies=frequencies,
    )
    tables = {"relevance": frame(rows, RELEVANCE), "distances": frame(distances, RELEVANCE_DISTANCES)}
    return tables, manifest


def _attributed(model: LoadedModel, question: Question, method: str, settings: AttributionSettings) -> Attribution:
    how = {"method": method, "aggregate": settings.aggregate}
    return attribute(model, question.reading, target=question.target, seed=settings.seed, **how)


def _likeliest(model: LoadedModel, attribution: Attribution) -> str:
    """What the model itself would have answered."""
    index = int(attribution.relevance.logits_C.argmax())
    if attribution.output.kind == LABELS:
        return labels_of(model)[index]
    return token_names(model, torch.tensor([index]))[0]


def _model_section(model: LoadedModel) -> ModelSection:
    """Which model it was; the number of heads is that of its config."""
    config = model.module.config if isinstance(model.module, Trunk) else model.text_config
    layers = model.layers or getattr(config, "num_hidden_layers", None) or 0
    heads = getattr(config, "heads", None) or getattr(config, "num_attention_heads", None) or 0
    labels = labels_of(model) if kind_of(model) == LABELS else ()
    return replace(model_section(model, layers=layers, heads=layers * heads), labels=labels)


def _is_causal(model: LoadedModel) -> bool | None:
    """Whether later tokens are hidden; None where nothing tells, as for a classifier of another library."""
    if isinstance(model.module, Trunk):
        return model.module.config.causal
    return {NEXT: True, MASKED: False}.get(kind_of(model))
