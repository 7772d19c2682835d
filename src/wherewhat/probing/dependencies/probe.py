"""The dependency probe: open a model, read treebanks, record what heads attend to, and score relations."""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.errors import UserError
from wherewhat.probing.dependencies import table_rows
from wherewhat.probing.dependencies.collect_targets import collect_targets
from wherewhat.probing.dependencies.manifest import NAME, TreebankResult, few_rows, left_out, manifest_of
from wherewhat.probing.dependencies.scoring import RelationScorer, each_by_its_own_head
from wherewhat.probing.dependencies.settings import ALL, PARTS, SIDES, DependencySettings
from wherewhat.probing.dependencies.treebanks import EncodedTreebank, load_treebanks, side_by_side
from wherewhat.progress import OnStep, Say
from wherewhat.runs.registry import ProbeRun
from wherewhat.tables.manifest.provenance import peak_memory
from wherewhat.tables.schema import PROBE, frame


def probe_dependencies(
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    parts: Sequence[str] = tuple(PARTS),
    permutations: int = 16,
    copies: int = 32,
    offsets: tuple[int, int] = (-5, 5),
    least: int | None = None,
    selection: str = "halves",
    subtypes: bool = False,
    max_sentences: int | None = None,
    seed: int = 0,
    batch_tokens: int = 2048,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
) -> ProbeRun:
    """Score which relations heads find by position alone, by content alone and by both, in files or in the grammar.

    The fields of `DependencySettings` explain the options.
    """
    began = time.perf_counter()
    say, loading = say or (lambda sentence: None), loading or LoadSettings()
    settings = DependencySettings(
        parts=tuple(parts),
        permutations=permutations,
        copies=copies,
        offsets=offsets,
        least=least,
        selection=selection,
        subtypes=subtypes,
        max_sentences=max_sentences,
        seed=seed,
        batch_tokens=batch_tokens,
    )
    loaded_model = load_by_name(model, loading) if isinstance(model, str) else model
    loaded_model = loaded_model if isinstance(loaded_model, LoadedModel) else wrap_module(loaded_model, tokenizer)
    loaded_model = loaded_model if tokenizer is None else replace(loaded_model, tokenizer=tokenizer)
    treebanks, aligned = side_by_side(load_treebanks(loaded_model, [Path(file) for file in files], settings))
    for sentence in (sentence for treebank in treebanks for sentence in left_out(treebank)):
        say(sentence)
    least_rows = settings.least_for(not files)
    results = [_run_on(loaded_model, treebank, settings, least_rows, on_step) for treebank in treebanks]
    for sentence in (sentence for result in results for sentence in few_rows(result)):
        say(sentence)
    manifest = replace(
        manifest_of(loaded_model, results, aligned),
        settings=settings.as_used(grammar=not files) | (asdict(loading) if isinstance(model, str) else {}),
        seed=settings.seed,
        seconds=round(time.perf_counter() - began, 3),
        peak_memory_bytes=peak_memory(),
    )
    rows: list[tuple[object, ...]] = []
    rows += [(NAME, loaded_model.id, result.treebank.name, *row.columns) for result in results for row in result.rows]
    correlations = table_rows.correlation_rows([table_rows.numbers_of(result.rows) for result in results])
    rows += [(NAME, loaded_model.id, None, *row.columns) for row in correlations]
    return ProbeRun(frame(rows, PROBE), manifest)


def _run_on(
    model: LoadedModel, treebank: EncodedTreebank, settings: DependencySettings, least: int, on_step: OnStep | None
) -> TreebankResult:
    """Read one treebank and score all its relations."""

    def on_text(done: int, of: int) -> None:
        if on_step is not None:
            on_step(done, of, treebank.name)

    targets = collect_targets(model, treebank.sentences, settings, on_text)
    scorer = RelationScorer(treebank.sentences, targets, settings, least)
    if not scorer.groups:
        rows = max(len(scorer.rows.where(ALL, side)) for side in SIDES)
        few = f"{treebank.name} has {rows} rows to score, and {least} in both halves are needed"
        raise UserError(f"{few}; give more sentences, or a smaller --least")
    scores = [scorer.held_out(group) for group in scorer.groups]
    each = each_by_its_own_head(scorer, scores)
    table = [row for of_group in (*scores, *each) for row in table_rows.held_out_rows(scorer, of_group)]
    table += table_rows.p_value_rows(scorer, scores)
    table += [*table_rows.share_rows(table), *table_rows.order_rows(scorer)]
    table += [*table_rows.head_rows(scorer), *table_rows.head_property_rows(scorer)]
    return TreebankResult(treebank, scorer, tuple(scores), tuple(each), tuple(table))
