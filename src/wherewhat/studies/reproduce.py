"""Run a study by name, and record where its numbers came from."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from torch import Tensor, nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings
from wherewhat.names import look_up
from wherewhat.progress import OnStep, shows_progress
from wherewhat.runs.registry import StudyRun
from wherewhat.studies.engine.study import Request
from wherewhat.studies.registry import STUDIES
from wherewhat.tables.manifest.decode import decode
from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.sections import ClaimSection
from wherewhat.tables.manifest.study import StudyManifest, study_section
from wherewhat.tables.texts import Text


@shows_progress
def reproduce(
    name: str,
    *,
    scale: str = "tiny",
    seed: int = 0,
    seeds: int | None = None,
    model: str | nn.Module | LoadedModel = "tiny",
    texts: Iterable[str | Tensor | Text] | None = None,
    source: str = "handed in",
    loading: LoadSettings | None = None,
    files: Sequence[str | Path] = (),
    tasks: Sequence[str | Path] = (),
    speech: str | Path | None = None,
    encodings: Sequence[str] = (),
    shift: int = 0,
    folder: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    shared: bool = False,
    progress: bool = False,
    on_step: OnStep | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> StudyRun:
    """Reproduce a published experiment: its result table, and a manifest with published, ours and verdict per claim.

    `scale` is tiny, small or paper; `seeds` is how many runs of each kind, by default as many as the scale has.
    Only control and attribution take `model` and `loading`, the latter a model by its name that is added to its own
    nets; only control takes `texts` and `source` (what the texts are called); only locality takes `files` (texts to
    train on) and `tasks` (files of further questions); only speech takes `speech` (a folder of recordings to train on);
    only length and counting take `encodings` to compare (`all` for every one); only length takes `shift` (how far
    positions are moved at random during training). Finished runs are kept in `folder`, from which `resume` goes on.
    `engine` is local (as many processes as `workers`), ray (the same by Ray, also on the cluster at `address` if
    `folder` is on storage that is `shared` by its nodes) or inline (in this process); the result is the same.
    `progress` shows a progress bar; `on_step` is called with steps done, steps in total, and a note.
    """
    began = time.perf_counter()
    request = Request(
        scale=scale,
        seed=seed,
        seeds=seeds,
        model=model,
        texts=texts,
        source=source,
        loading=loading or LoadSettings(),
        files=tuple(map(Path, files)),
        tasks=tuple(map(Path, tasks)),
        speech=None if speech is None else Path(speech),
        encodings=tuple(encodings),
        shift=shift,
        folder=None if folder is None else Path(folder),
        overwrite=overwrite,
        resume=resume,
        engine=engine,
        workers=workers,
        address=address,
        shared=shared,
        on_step=on_step,
        on_warning=on_warning,
    )
    study = look_up("reproduction", name, STUDIES)
    result = study.reproduce(request)
    manifest = StudyManifest(
        **provenance(),
        reproduction=study.name,
        about=study_section(study.name, result.about),
        paper=study.paper,
        scale=request.scale,
        seed=request.seed,
        settings=result.settings,
        claims=[decode(ClaimSection, claim.entry) for claim in result.claims],
        notes=result.notes,
        seconds=round(time.perf_counter() - began, 3),
        peak_memory_bytes=peak_memory(),
    )
    return StudyRun(result.result, manifest)
