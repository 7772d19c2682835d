"""Does an attention head look at a token because of where it stands or because of what it says?

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
    from wherewhat.capture.loading.load import LoadSettings as LoadSettings
    from wherewhat.comparing.compare import compare as compare
    from wherewhat.editing.edit import edit as edit
    from wherewhat.editing.effect import edited as edited
    from wherewhat.editing.plan import Edit as Edit
    from wherewhat.encodings.registry import ENCODINGS as ENCODINGS
    from wherewhat.encodings.registry import encoding as encoding
    from wherewhat.errors import UserError as UserError
    from wherewhat.models.registry import MODELS as MODELS
    from wherewhat.probing.registry import probe as probe
    from wherewhat.profiling.profile import profile as profile
    from wherewhat.recipes.registry import RECIPES as RECIPES
    from wherewhat.recipes.registry import recipe as recipe
    from wherewhat.runs.profile import Profile as Profile
    from wherewhat.runs.registry import load as load
    from wherewhat.scores.registry import SCORES as SCORES
    from wherewhat.studies.run import reproduce as reproduce
    from wherewhat.tables.builtin import TEXTS as TEXTS
    from wherewhat.tables.texts import read_texts as read_texts
    from wherewhat.tasks.registry import TASKS as TASKS
    from wherewhat.training.loop import train as train

# Loaded when asked for, so that `import wherewhat` stays quick.
_HOMES = {
    "ENCODINGS": "wherewhat.encodings.registry",
    "Edit": "wherewhat.editing.plan",
    "LoadSettings": "wherewhat.capture.loading.load",
    "MODELS": "wherewhat.models.registry",
    "Profile": "wherewhat.runs.profile",
    "RECIPES": "wherewhat.recipes.registry",
    "SCORES": "wherewhat.scores.registry",
    "TASKS": "wherewhat.tasks.registry",
    "TEXTS": "wherewhat.tables.builtin",
    "UserError": "wherewhat.errors",
    "compare": "wherewhat.comparing.compare",
    "edit": "wherewhat.editing.edit",
    "edited": "wherewhat.editing.effect",
    "encoding": "wherewhat.encodings.registry",
    "load": "wherewhat.runs.registry",
    "probe": "wherewhat.probing.registry",
    "profile": "wherewhat.profiling.profile",
    "read_texts": "wherewhat.tables.texts",
    "recipe": "wherewhat.recipes.registry",
    "reproduce": "wherewhat.studies.run",
    "train": "wherewhat.training.loop",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'wherewhat' has no attribute '{name}'")
    found = getattr(import_module(_HOMES[name]), name)
    if isfunction(found):
        from wherewhat.errors import python_door

        found = python_door(found)
        found.__module__ = __name__  # where it can be found again, which pickle asks for
    globals()[name] = found  # also wins over the submodule of the same name (profile, train)
    return found


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("wherewhat")
    except PackageNotFoundError:  # a source tree that nobody installed
        return "unknown"


def __dir__() -> list[str]:
    return sorted(__all__)
