"""What the manifest of a training run says."""

from typing import Any

from wherewhat.tables.manifest.provenance import peak_memory, provenance
from wherewhat.tables.manifest.sections import TrainingManifest
from wherewhat.training.run_folder import TrainingResult


def training_manifest(
    trained: TrainingResult, *, recipe: str, seconds: float, command: str | None = None
) -> TrainingManifest:
    """How a run was made and how it ended; one of a sweep has no command of its own."""
    ends: dict[str, Any] = dict(trained.ends)
    return TrainingManifest(
        **provenance(),
        **ends,
        command=command,
        recipe=recipe,
        settings=trained.settings.to_dict(),
        read=trained.settings.read() or None,
        seed=trained.settings.seed,
        seconds=seconds,
        peak_memory_bytes=peak_memory(),
    )
