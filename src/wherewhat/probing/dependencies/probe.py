"""The walk of the probe: open a model, read treebanks, note where heads look, and tell which relations that finds.

What its manifest holds beside where everything came from:

- `probe`, `way` (bidirectional or causal), `split` (black-box: what positional and contextual mean), `said`, `settings`
- `model`, `layers`, `aligned` (whether treebanks hold the same sentences)
- `data`: a list of name, source, hash, sentences, words, removed, merged, pieces, rows and hidden (by side), skipped
  (by reason), dropped (relations with few rows), left, distance, median, copied
- `chosen`: which heads or offsets each half chose, by data, item, side, kind and distance
- `examples`: rows in words, with where the chosen heads look
- `claims`: id, data, side, claim, published, ours, verdict, why, value, low, high; `judged`: what all of them rest on
- `notes`: sentences
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.names import check_keywords
from wherewhat.probing.dependencies.describe import NAME, about, few_rows, left_out
from wherewhat.probing.dependencies.links import links, numbers_of
from wherewhat.probing.dependencies.looking import look
from wherewhat.probing.dependencies.scoring import Scoring
from wherewhat.probing.dependencies.sentences import Treebank
from wherewhat.probing.dependencies.settings import Asking
from wherewhat.probing.dependencies.study import Study, studied
from wherewhat.probing.dependencies.treebanks import side_by_side, treebanks_of
from wherewhat.probing.waiting import OnStep, Say
from wherewhat.runs.probed import Probed
from wherewhat.tables.manifest import peak_memory, provenance
from wherewhat.tables.schema import PROBE, frame


def probe_dependencies(
    model: str | nn.Module | LoadedModel,
    files: Sequence[str | Path] = (),
    *,
    tokenizer: Any = None,
    loading: LoadSettings | None = None,
    on_step: OnStep | None = None,
    say: Say | None = None,
    **asking: Any,
) -> Probed:
    """Which relations do heads find, by place alone, by content alone and by both; in every file or in the grammar.

    `asking` are the fields of `Asking`.
    """
    began = time.perf_counter()
    check_keywords(probe_dependencies, asking, fills=Asking)
    wanted = Asking(**asking)
    loaded_model = _subject(model, tokenizer, loading or LoadSettings())
    treebanks, aligned = side_by_side(treebanks_of(loaded_model, [Path(file) for file in files], wanted))
    tell = say or (lambda sentence: None)
    for treebank in treebanks:
        for sentence in left_out(treebank):
            tell(sentence)
    studies = [_study(loaded_model, treebank, wanted, own=not files, on_step=on_step) for treebank in treebanks]
    for study in studies:
        for sentence in few_rows(study):
            tell(sentence)
    settings = wanted.told(grammar=not files) | (asdict(loading or LoadSettings()) if isinstance(model, str) else {})
    manifest = {
        **provenance(),
        "command": None,
        **about(loaded_model, studies, aligned),
        "settings": settings,
        "seed": wanted.seed,
        "seconds": round(time.perf_counter() - began, 3),
        "peak_memory_bytes": peak_memory(),
    }
    rows: list[tuple[object, ...]] = []
    rows += [(NAME, loaded_model.id, study.treebank.name, *line.columns) for study in studies for line in study.lines]
    rows += [
        (NAME, loaded_model.id, None, *line.columns) for line in links([numbers_of(study.lines) for study in studies])
    ]
    return Probed(frame(rows, PROBE), manifest)


def _subject(model: str | nn.Module | LoadedModel, tokenizer: Any, loading: LoadSettings) -> LoadedModel:
    loaded_model = load_by_name(model, loading) if isinstance(model, str) else model
    loaded_model = loaded_model if isinstance(loaded_model, LoadedModel) else wrap_module(loaded_model, tokenizer)
    return loaded_model if tokenizer is None else replace(loaded_model, tokenizer=tokenizer)


def _study(model: LoadedModel, treebank: Treebank, asking: Asking, *, own: bool, on_step: OnStep | None) -> Study:
    """Read, note and count."""

    def on_text(done: int, of: int) -> None:
        if on_step is not None:
            on_step(done, of, treebank.name)

    looked = look(model, treebank.sentences, asking, on_text)
    scoring = Scoring(treebank.sentences, looked, asking, asking.least_for(own))
    return studied(treebank, scoring)
