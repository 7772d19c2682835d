"""Does an attention head look at a token because of where it is or because of what it says?

>>> import wherewhat as ww
>>> profile = ww.profile("tiny", max_texts=20)
>>> profile.heads.columns[:5]
['model', 'layer', 'head', 'score', 'value']
"""

from importlib import import_module
from inspect import isfunction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from wherewhat.attribution.attribute import attribute as attribute
    from wherewhat.attribution.attribute_texts import AttributionSettings as AttributionSettings
    from wherewhat.attribution.attribute_texts import attribute_texts as attribute_texts
    from wherewhat.attribution.check import check_attribution as check_attribution
    from wherewhat.attribution.evaluation.evaluate import evaluate_attribution as evaluate_attribution
    from wherewhat.attribution.evaluation.settings import EvaluationSettings as EvaluationSettings
    from wherewhat.capture.loading.load import LoadSettings as LoadSettings
    from wherewhat.comparing.compare import compare as compare
    from wherewhat.editing.edit import edit as edit
    from wherewhat.editing.measure_edit import measure_edit as measure_edit
    from wherewhat.editing.plan import Edit as Edit
    from wherewhat.encodings.registry import ENCODINGS as ENCODINGS
    from wherewhat.encodings.registry import encoding as encoding
    from wherewhat.errors import UserError as UserError
    from wherewhat.models.registry import MODELS as MODELS
    from wherewhat.probing.registry import PROBES as PROBES
    from wherewhat.probing.registry import probe as probe
    from wherewhat.profiling.profile import profile as profile
    from wherewhat.profiling.settings import PositionalSettings as PositionalSettings
    from wherewhat.profiling.settings import ProfileSettings as ProfileSettings
    from wherewhat.profiling.settings import RepeatedSettings as RepeatedSettings
    from wherewhat.recipes.registry import RECIPES as RECIPES
    from wherewhat.recipes.registry import recipe as recipe
    from wherewhat.runs.registry import Profile as Profile
    from wherewhat.runs.registry import load as load
    from wherewhat.scores.registry import SCORES as SCORES
    from wherewhat.studies.registry import STUDIES as STUDIES
    from wherewhat.studies.reproduce import reproduce as reproduce
    from wherewhat.sweeping.sweep import sweep as sweep
    from wherewhat.tables.texts import TEXTS as TEXTS
    from wherewhat.tables.texts import read_texts as read_texts
    from wherewhat.tasks.registry import TASKS as TASKS
    from wherewhat.training.loop import train as train

# Loaded when asked for, so that `import wherewhat` stays quick.
_HOMES = {
    "AttributionSettings": "wherewhat.attribution.attribute_texts",
    "ENCODINGS": "wherewhat.encodings.registry",
    "MODELS": "wherewhat.models.registry",
    "PROBES": "wherewhat.probing.registry",
    "RECIPES": "wherewhat.recipes.registry",
    "SCORES": "wherewhat.scores.registry",
    "STUDIES": "wherewhat.studies.registry",
    "TASKS": "wherewhat.tasks.registry",
    "TEXTS": "wherewhat.tables.texts",
    "Edit": "wherewhat.editing.plan",
    "EvaluationSettings": "wherewhat.attribution.evaluation.settings",
    "LoadSettings": "wherewhat.capture.loading.load",
    "PositionalSettings": "wherewhat.profiling.settings",
    "Profile": "wherewhat.runs.registry",
    "ProfileSettings": "wherewhat.profiling.settings",
    "RepeatedSettings": "wherewhat.profiling.settings",
    "UserError": "wherewhat.errors",
    "attribute": "wherewhat.attribution.attribute",
    "attribute_texts": "wherewhat.attribution.attribute_texts",
    "check_attribution": "wherewhat.attribution.check",
    "compare": "wherewhat.comparing.compare",
    "edit": "wherewhat.editing.edit",
    "encoding": "wherewhat.encodings.registry",
    "evaluate_attribution": "wherewhat.attribution.evaluation.evaluate",
    "load": "wherewhat.runs.registry",
    "measure_edit": "wherewhat.editing.measure_edit",
    "probe": "wherewhat.probing.registry",
    "profile": "wherewhat.profiling.profile",
    "read_texts": "wherewhat.tables.texts",
    "recipe": "wherewhat.recipes.registry",
    "reproduce": "wherewhat.studies.reproduce",
    "sweep": "wherewhat.sweeping.sweep",
    "train": "wherewhat.training.loop",
}

__all__ = [*_HOMES, "__version__"]


if not TYPE_CHECKING:  # a type checker would take any name for an attribute

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return _version()
        if name not in _HOMES:
            raise AttributeError(f"module 'wherewhat' has no attribute '{name}'")
        value = getattr(import_module(_HOMES[name]), name)
        if isfunction(value):
            from wherewhat.errors import python_errors

            value = python_errors(value)
            value.__module__ = __name__  # where it can be found again, which pickle asks for
        globals()[name] = value  # also wins over the submodule of the same name (profile, train)
        return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("wherewhat")
    except PackageNotFoundError:  # a source tree that nobody installed
        return "unknown"


def __dir__() -> list[str]:
    return sorted(__all__)
