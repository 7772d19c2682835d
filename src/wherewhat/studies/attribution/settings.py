"""How large the experiment is: which texts, the nets that are trained for them, and how many texts are explained."""

from dataclasses import dataclass, field, replace

from wherewhat.capture.loading.load import LoadSettings, short_name
from wherewhat.nets.config import NetConfig
from wherewhat.recipes.nli_tiny import nli_tiny
from wherewhat.studies.attribution.names import BUILT_IN_TASKS, INDEX, INDUCTION, RETRIEVAL, ROLES, TRAINED_TASKS
from wherewhat.studies.engine.study import OF_STUDY
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.registry import task
from wherewhat.training.settings import TrainingSettings
from wherewhat.training.task_training import TaskSettings


@dataclass(frozen=True)
class AttributionCondition:
    """Texts of one kind, read by a net that was trained for them or by a model that the user names."""

    source: str
    model: str = ""  # of the user
    loading: LoadSettings = field(default=LoadSettings())

    @property
    def name(self) -> str:
        """Its name in the table."""
        return self.source


@dataclass(frozen=True, kw_only=True)
class AttributionScale:
    """The kinds of texts, the nets that read them, and how many texts are explained."""

    sources: tuple[str, ...] = field(default=(), metadata=OF_STUDY)
    context: int = 24  # tokens before the query of a task
    symbols: int = 16
    integers: int = 8
    layers: int = 2
    width: int = 64
    heads: int = 4
    steps: int = 600
    roles_steps: int = 3000
    batch: int = 64
    learning_rate: float = 2e-3
    warmup: int = 100
    texts: int = 200
    tokens: int = 32  # of texts that a model of the user writes
    draws: int = 10  # random orders per text
    model: str = field(default="", metadata=OF_STUDY)  # of the user
    loading: LoadSettings = field(default=LoadSettings(), metadata=OF_STUDY)
    seeds: int = field(default=1, metadata=OF_STUDY)

    def task(self, source: str) -> Balanced:
        """The task of a net that is trained on one."""
        sizes = {"context": self.context, "n_symbols": self.symbols}
        return task(source, **sizes, **({} if source == INDEX else {"n_int": self.integers}))

    def training(self, source: str, seed: int) -> TrainingSettings:
        """One training run, which is evaluated once, at its end."""
        if source == ROLES:
            return replace(
                nli_tiny(), steps=self.roles_steps, evaluate_every=self.roles_steps, seed=seed, data_seed=seed + 1
            )
        own, steps = self.task(source), self.steps * (2 if source == INDUCTION else 1)
        net = NetConfig(
            vocabulary=own.vocabulary,
            length=own.length,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            encoding="rope",
        )
        return TaskSettings(
            net=net,
            tasks=(own,),
            steps=steps,
            batch=self.batch,
            learning_rate=self.learning_rate,
            warmup=min(self.warmup, steps // 4),
            seed=seed,
            data_seed=seed + 1,
            evaluate_every=steps,
        )


def conditions(scale: AttributionScale) -> list[AttributionCondition]:
    """All kinds of texts, and those of the user's model."""
    own = [AttributionCondition(source) for source in scale.sources]
    if not scale.model:
        return own
    return [*own, AttributionCondition(f"next token, {short_name(scale.model)}", scale.model, scale.loading)]


_TINY = AttributionScale(sources=(INDEX, RETRIEVAL, *BUILT_IN_TASKS))
_SMALL = replace(_TINY, sources=(*TRAINED_TASKS, *BUILT_IN_TASKS, ROLES), texts=300, seeds=3)
SCALES: dict[str, AttributionScale] = {"tiny": _TINY, "small": _SMALL}
