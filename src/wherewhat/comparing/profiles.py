"""Profile what has no profile yet: models that were named, and fresh weights, all on the same texts in the same way."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from torch import nn

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.capture.loading.untrained import fresh
from wherewhat.capture.tokens.encode import OWN
from wherewhat.comparing.inputs import Named
from wherewhat.errors import UserError
from wherewhat.profiling.describe import hash_of
from wherewhat.profiling.positional_part.probing import Probing
from wherewhat.profiling.profile import OneText, Say, profile, read
from wherewhat.profiling.repeated_tokens.repeating import Repeating
from wherewhat.profiling.settings import ProfileSettings
from wherewhat.runs.profile import Profile
from wherewhat.tables.origin import Origin, origin_of

GIVEN = "given"  # and of blocks that were handed in
OnStep = Callable[[int, int, str], None]  # done, of how many, what to say beside it
Texts = Iterable[OneText] | None


@dataclass(frozen=True)
class Way:
    """How models are to be profiled, as far as somebody said so; the rest is taken from the first of them."""

    texts: Texts = None
    source: str | Origin = "handed in"
    loading: LoadSettings | None = None
    measuring: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> ProfileSettings:
        """What is measured on texts."""
        return ProfileSettings(**self.measuring)


@dataclass(frozen=True)
class Waiting:
    """Who waits for it: what to tell them, and how many profiles there are in all."""

    on_step: OnStep | None = None
    say: Say | None = None
    of: int = 0


@dataclass(frozen=True)
class Profiles:
    """The profile of each that was named, those of fresh draws of the first one's architecture, and what was done."""

    named: list[Profile]
    untrained: list[Profile]
    notes: list[str]


def profiles_of(named: Sequence[Named], asked: Way, *, draws: int, waiting: Waiting) -> Profiles:
    """Profile what has no profile yet, and what has one that was made in another way than is asked now."""
    first, way = begin(named[0], asked)
    loading = way.loading or LoadSettings()
    others = {one.given: other for one in named if (other := _other_than(one, asked, way, first))}
    to_do = [one for one in named if one.profile is None or one.given in others]
    waiting = replace(waiting, of=draws + len(to_do))
    notes = [f"{given} was profiled again: {', '.join(other)} asked for otherwise." for given, other in others.items()]
    for note in notes if waiting.say is not None else ():
        waiting.say(note)  # type: ignore[misc]
    untrained = []
    for number in range(draws):
        drawn = fresh(first, seed=way.settings.seed + number)
        untrained.append(_profiled(drawn, way, waiting, done=number, note=f"untrained, draw {number + 1}"))
    found: list[Profile] = []
    done = draws
    for one in named:
        if one.profile is not None and one not in to_do:
            found.append(one.profile)
            continue
        model = first if one is named[0] else subject_of(one, loading)
        _refuse_foreign_texts(first, model, way)
        found.append(_profiled(model, way, waiting, done=done, note=model.id))
        done += 1
    return Profiles(found, untrained, notes)


def begin(first: Named, asked: Way) -> tuple[LoadedModel, Way]:
    """Load what the others are held against; the way is as asked, and else as that one was profiled."""
    loading = asked.loading or _loading_of(first)
    way = replace(asked, loading=loading, measuring=_merged(_settings_of(first), asked.measuring))
    model = subject_of(first, loading)
    return model, _with_texts(way, first, model)


def _profiled(model: LoadedModel, way: Way, waiting: Waiting, *, done: int, note: str) -> Profile:
    def on_step(far: int, of: int, phase: str) -> None:
        if waiting.on_step is not None:
            waiting.on_step(1000 * done + 1000 * far // max(of, 1), 1000 * waiting.of, f"{note}: {phase}")

    measuring = {**way.measuring, "untrained": False}  # fresh weights are compared as models of their own
    made = profile(model, way.texts, on_step=on_step, say=waiting.say, source=way.source, **measuring)
    if waiting.on_step is not None:
        waiting.on_step(1000 * (done + 1), 1000 * waiting.of, note)
    return made


def _other_than(named: Named, asked: Way, way: Way, first: LoadedModel) -> list[str]:
    """What was asked for that a run was not made with; nothing of a model, which has no run yet."""
    if named.profile is None:
        return []
    own, manifest = _settings_of(named), named.profile.manifest
    before, after = ProfileSettings(**own), ProfileSettings(**_merged(own, asked.measuring))
    found = [one.name for one in fields(ProfileSettings) if getattr(before, one.name) != getattr(after, one.name)]
    if asked.loading is not None and asked.loading.dtype != manifest.get("dtype"):
        found.append("dtype")
    if asked.texts is not None and not _read_them(named, way, first, after):
        found.append("texts")
    return found


def _read_them(named: Named, way: Way, first: LoadedModel, settings: ProfileSettings) -> bool:
    """Whether a run read the texts that are given now, in the tokens of the first model or in those of its own."""
    hash_then = _hash({} if named.profile is None else named.profile.manifest)
    if hash_of(read(first, way.texts, settings).ids) == hash_then:
        return True
    try:
        own = subject_of(named, way.loading or LoadSettings())
        return hash_of(read(own, way.texts, settings).ids) == hash_then
    except UserError:
        return False


def _refuse_foreign_texts(first: LoadedModel, other: LoadedModel, way: Way) -> None:
    """What a net writes itself means nothing to a model of another task."""
    if way.source == OWN and (other.task, other.corpus) != (first.task, first.corpus):
        raise UserError(
            f"{first.id} reads texts of its own, which mean nothing to {other.id}; name texts for both with --text"
        )


def _merged(own: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run with what is asked in their place; to probe with nothing said of how is to do as it did."""
    ways = ("positional", "random")
    kept = {name: own[name] for name in ways if asked.get(name) is True and own.get(name)}
    return {**own, **asked, **kept}


def _with_texts(way: Way, named: Named, first: LoadedModel) -> Way:
    """The texts are those given, or those of the first: what its run read, or what its net writes itself."""
    manifest = {} if named.profile is None else named.profile.manifest
    if way.texts is not None:
        texts = [way.texts] if isinstance(way.texts, str) else list(islice(way.texts, way.settings.max_texts))
        return replace(way, texts=texts)
    told = manifest.get("texts") or {}
    if not told or told.get("source") == OWN:
        return replace(way, texts=read(first, None, way.settings).ids, source=OWN)
    origin = origin_of(told)
    if not origin.here:
        raise UserError(
            f"{named.given} read texts that are not here ({origin.source}); name them with --text or --dataset"
        )
    own = ProfileSettings(**_settings_of(named))
    again = list(islice(origin.read(), max(own.max_texts, way.settings.max_texts)))
    if hash_of(read(first, again, own).ids) != _hash(manifest):
        raise UserError(
            f"{named.given} read other texts than are in {origin.source} now; profile it again, or name texts with "
            "--text or --dataset, on which all are profiled"
        )
    return replace(way, texts=again[: way.settings.max_texts], source=origin)


def _hash(manifest: Mapping[str, Any]) -> str | None:
    return (manifest.get("texts") or {}).get("hash")


def subject_of(named: Named, loading: LoadSettings) -> LoadedModel:
    """The model that was named; of a run, the model that it profiled."""
    if named.profile is not None:
        return _model_of(named.given, named.profile.manifest.get("model") or {}, loading)
    if isinstance(named.model, str):
        return load_by_name(named.model, loading)
    return wrap_module(named.model) if isinstance(named.model, nn.Module) else named.model


def _model_of(given: str, model: Mapping[str, Any], loading: LoadSettings) -> LoadedModel:
    """The model of a run: its weights are needed to profile it otherwise, its architecture to draw others."""
    path = model.get("path")
    if path is not None and not Path(path).is_dir():
        raise UserError(f"{given} profiled the model in {path}, which is not there; put it back, or profile it again")
    revision = None if path is not None else loading.revision or model.get("revision")  # only the Hub keeps revisions
    try:
        return load_by_name(path or str(model.get("id")), replace(loading, revision=revision))
    except UserError as error:
        raise UserError(f"the model of {given} is needed here, but {error}") from error


def _settings_of(named: Named) -> dict[str, Any]:
    """How a run was profiled, so that another can be profiled in the same way; nothing of a model."""
    if named.profile is None:
        return {}
    manifest = named.profile.manifest
    told = manifest.get("settings") or {}
    known = {one.name: told[one.name] for one in fields(ProfileSettings) if one.name in told}
    if known.get("blocks") == GIVEN:
        raise UserError(f"{named.given} swapped blocks that were handed in, which is not known any more; profile again")
    known |= {name: tuple(known[name]) for name in ("scores", "layers", "heads") if name in known}
    known["tau"] = tuple(float(tau) for tau in known.get("tau") or (1e-4,))
    if known.get("positional"):
        known["positional"] = Probing(**known["positional"])
    if known.get("random"):
        known["random"] = Repeating(**known["random"])
    return known


def _loading_of(named: Named) -> LoadSettings:
    """How the model of a run was loaded."""
    told = {} if named.profile is None else named.profile.manifest.get("settings") or {}
    return LoadSettings(**{one.name: told[one.name] for one in fields(LoadSettings) if one.name in told})
