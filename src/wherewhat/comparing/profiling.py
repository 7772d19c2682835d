"""Profile what has no profile yet: models that were named, and fresh weights, all on the same texts in the same way."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from wherewhat.asking import Measuring
from wherewhat.capture.fresh import fresh
from wherewhat.capture.load import Loading, Subject, find, wrap
from wherewhat.capture.texts import OWN
from wherewhat.comparing.door import Named
from wherewhat.errors import UserError
from wherewhat.measure import Say, profile, read
from wherewhat.positional.probing import Probing
from wherewhat.runs.profile import Profile
from wherewhat.tables.texts import Text, read_texts, take_turns

GIVEN = "given"  # and of blocks that were handed in
OnStep = Callable[[int, int, str], None]  # done, of how many, what to say beside it
Texts = Iterable[str | Tensor | Text] | None


@dataclass(frozen=True)
class Way:
    """How models are to be profiled, as far as somebody said so; the rest is taken from the first of them."""

    texts: Texts = None
    source: str = "handed in"
    loading: Loading | None = None
    measuring: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> Measuring:
        """What is measured on texts."""
        own = {one.name for one in fields(Measuring)}
        return Measuring(**{name: value for name, value in self.measuring.items() if name in own})


@dataclass(frozen=True)
class Waiting:
    """Who waits for it: what to tell them, and how many profiles there are in all."""

    of: int
    on_step: OnStep | None = None
    say: Say | None = None


def profiles_of(
    named: Sequence[Named], way: Way, *, draws: int, waiting: Waiting
) -> tuple[list[Profile], list[Profile]]:
    """The profile of each that was named, and those of fresh draws of the first one's architecture."""
    loading = way.loading or _loading_of(named[0])
    way = replace(way, loading=loading, measuring={**_settings_of(named[0]), **way.measuring})
    first = _subject(named[0], loading)
    way = _with_texts(way, named[0], first)
    untrained = []
    for number in range(draws):
        drawn = fresh(first, seed=way.settings.seed + number)
        untrained.append(_profiled(drawn, way, waiting, done=number, note=f"untrained, draw {number + 1}"))
    found: list[Profile] = []
    done = draws
    for one in named:
        if one.profile is None:
            subject = first if one is named[0] else _subject(one, loading)
            found.append(_profiled(subject, way, waiting, done=done, note=subject.id))
            done += 1
        else:
            found.append(one.profile)
    return found, untrained


def _profiled(subject: Subject, way: Way, waiting: Waiting, *, done: int, note: str) -> Profile:
    def on_text(texts: int, of: int) -> None:
        if waiting.on_step is not None:
            waiting.on_step(done, waiting.of, f"{note}: {texts} of {of} texts")

    made = profile(subject, way.texts, on_text=on_text, say=waiting.say, source=way.source, **way.measuring)
    if waiting.on_step is not None:
        waiting.on_step(done + 1, waiting.of, note)
    return made


def _with_texts(way: Way, named: Named, first: Subject) -> Way:
    """The texts are those given, or those of the first: the files that its run read, or what its net writes itself."""
    texts, source = (way.texts, way.source) if way.texts is not None else _texts_of(named)
    if texts is None:
        return replace(way, texts=read(first, None, way.settings)[0], source=OWN)
    kept = [texts] if isinstance(texts, str) else list(islice(texts, way.settings.max_texts))
    return replace(way, texts=kept, source=source)


def _subject(named: Named, loading: Loading) -> Subject:
    """The model that was named; of a run, the model that it profiled."""
    if named.profile is not None:
        model = named.profile.manifest.get("model") or {}
        again = replace(loading, revision=loading.revision or model.get("revision"))
        return find(str(model.get("path") or model.get("id")), again)
    if isinstance(named.model, str):
        return find(named.model, loading)
    return wrap(named.model) if isinstance(named.model, nn.Module) else named.model


def _texts_of(named: Named) -> tuple[Texts, str]:
    """The texts that a run read, from the same files; none for a net that wrote its own, or for a model."""
    if named.profile is None:
        return None, OWN
    source = str((named.profile.manifest.get("texts") or {}).get("source"))
    if source == OWN:
        return None, OWN
    files = [Path(piece) for piece in source.split(", ")]
    if not all(file.is_file() for file in files):
        raise UserError(f"{named.given} read texts that are not here ({source}); name them with --text or --dataset")
    return take_turns([read_texts(file) for file in files]), source


def _settings_of(named: Named) -> dict[str, Any]:
    """How a run was profiled, so that another can be profiled in the same way; nothing of a model."""
    if named.profile is None:
        return {}
    manifest = named.profile.manifest
    told, swaps = manifest.get("settings") or {}, manifest.get("swaps") or {}
    known = {one.name: told[one.name] for one in fields(Measuring) if one.name in told}
    if known.get("blocks") == GIVEN:
        raise UserError(f"{named.given} swapped blocks that were handed in, which is not known any more; profile again")
    known |= {name: tuple(known[name]) for name in ("scores", "layers", "heads") if name in known}
    known["tau"] = tuple(float(tau) for tau in known.get("tau") or (1e-4,))
    if swaps.get("queries") == "last" != known.get("queries"):
        known["queries"] = None  # a quick look, which has no number of its own
    if known.get("positional"):
        known["positional"] = Probing(**known["positional"])
    return known


def _loading_of(named: Named) -> Loading:
    """How the model of a run was loaded."""
    told = {} if named.profile is None else named.profile.manifest.get("settings") or {}
    return Loading(**{one.name: told[one.name] for one in fields(Loading) if one.name in told})
