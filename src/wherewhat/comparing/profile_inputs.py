"""Profile the inputs that have no profile yet, and untrained weights, all on the same texts with the same settings."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, untrained_copy
from wherewhat.capture.tokens.encode import OWN
from wherewhat.comparing.inputs import CompareInput, InputProfiles, OnStep, ProfileRequest
from wherewhat.errors import UserError
from wherewhat.profiling.describe import text_hash
from wherewhat.profiling.inputs import encode_texts, load_model
from wherewhat.profiling.profile import profile
from wherewhat.profiling.reading import Say
from wherewhat.profiling.settings import PositionalSettings, ProfileSettings, ReadingOptions, RepeatedSettings
from wherewhat.runs.registry import Profile
from wherewhat.tables.texts import origin_of

GIVEN = "given"  # what the manifest has for blocks that were passed in


class CompareProfileOptions(ReadingOptions, total=False):
    """The fields of `ProfileSettings` that a comparison takes as keywords."""

    positional: PositionalSettings | bool | None
    random: RepeatedSettings | bool | None
    hidden: bool | None


def profile_inputs(
    inputs: Sequence[CompareInput],
    given: ProfileRequest,
    *,
    draws: int,
    on_step: OnStep | None = None,
    say: Say | None = None,
) -> InputProfiles:
    """Profile every input without a profile, and every one whose profile was made otherwise than is asked for now."""
    first, request = first_model(inputs[0], given)
    changed = {each.given: names for each in inputs if (names := _changed(each, given, request, first))}
    to_do = [each for each in inputs if each.profile is None or each.given in changed]
    notes = [f"{given} was profiled again with other settings: {', '.join(names)}." for given, names in changed.items()]
    for note in notes if say is not None else ():
        say(note)  # type: ignore[misc]
    made, total = list[Profile](), 1000 * (draws + len(to_do))

    def add(model: LoadedModel, note: str) -> Profile:
        begin = 1000 * len(made)

        def on_part(done: int, of: int, phase: str) -> None:
            if on_step is not None:
                on_step(begin + 1000 * done // max(of, 1), total, f"{note}: {phase}")

        options = {**request.options, "untrained": False}  # untrained weights are compared as models of their own
        made.append(profile(model, request.texts, on_step=on_part, say=say, source=request.source, **options))
        if on_step is not None:
            on_step(begin + 1000, total, note)
        return made[-1]

    for number in range(draws):
        add(untrained_copy(first, seed=request.settings.seed + number), f"untrained, draw {number + 1}")
    profiles: list[Profile] = []
    for each in inputs:
        if each.profile is not None and each not in to_do:
            profiles.append(each.profile)
            continue
        model = first if each is inputs[0] else model_of(each, request.loading or LoadSettings())
        if request.source == OWN and (model.task, model.corpus) != (first.task, first.corpus):
            raise UserError(
                f"{first.id} reads texts of its own, which mean nothing to {model.id}; name texts for both with --text"
            )
        profiles.append(add(model, model.id))
    return InputProfiles(profiles, made[:draws], notes)


def first_model(first: CompareInput, given: ProfileRequest) -> tuple[LoadedModel, ProfileRequest]:
    """Load the model that the others are compared with; what was not asked for is as that one was profiled."""
    section = first.manifest.settings
    own = LoadSettings(**{each.name: section[each.name] for each in fields(LoadSettings) if each.name in section})
    loading = given.loading or own
    request = replace(given, loading=loading, options=_merged(_options_of(first), given.options))
    model = model_of(first, loading)
    return model, _with_texts(request, first, model)


def _changed(each: CompareInput, given: ProfileRequest, request: ProfileRequest, first: LoadedModel) -> list[str]:
    """The settings that a profile was not made with as asked; none for a model, which has no profile yet."""
    if each.profile is None:
        return []
    own = _options_of(each)
    before, after = ProfileSettings(**own), ProfileSettings(**_merged(own, given.options))
    names = [field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)]
    if given.loading is not None and given.loading.dtype != each.manifest.dtype:
        names.append("dtype")
    if given.texts is not None and not _has_read(each, request, first, after):
        names.append("texts")
    return names


def _has_read(each: CompareInput, request: ProfileRequest, first: LoadedModel, settings: ProfileSettings) -> bool:
    """Whether a profile read the texts that are given now, in the tokens of the first model or in those of its own."""
    hash_then = each.manifest.texts.hash
    if text_hash(encode_texts(first, request.texts, settings).ids) == hash_then:
        return True
    try:
        own = model_of(each, request.loading or LoadSettings())
        return text_hash(encode_texts(own, request.texts, settings).ids) == hash_then
    except UserError:
        return False


def _merged(own: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a profile, overridden by what is asked; `True` asks for a measurement as it was made before."""
    kept = {name: own[name] for name in ("positional", "random") if options.get(name) is True and own.get(name)}
    return {**own, **options, **kept}


def _with_texts(request: ProfileRequest, first: CompareInput, model: LoadedModel) -> ProfileRequest:
    """With the given texts, or those of the first: what its profile read, or what its net generates itself."""
    settings = request.settings
    if request.texts is not None:
        texts = [request.texts] if isinstance(request.texts, str) else list(islice(request.texts, settings.max_texts))
        return replace(request, texts=texts)
    if first.profile is None or first.manifest.texts.source in (None, OWN):
        return replace(request, texts=encode_texts(model, None, settings).ids, source=OWN)
    origin = origin_of(first.manifest.texts)
    if not origin.here:
        raise UserError(
            f"{first.given} read texts that are not here ({origin.source}); name them with --text or --dataset"
        )
    own = ProfileSettings(**_options_of(first))
    again = list(islice(origin.read(), max(own.max_texts, settings.max_texts)))
    if text_hash(encode_texts(model, again, own).ids) != first.manifest.texts.hash:
        raise UserError(
            f"{first.given} read other texts than are in {origin.source} now; profile it again, or name texts with "
            "--text or --dataset, on which all are profiled"
        )
    return replace(request, texts=again[: settings.max_texts], source=origin)


def model_of(each: CompareInput, loading: LoadSettings) -> LoadedModel:
    """The model that was named or passed in; for a profile, the model that it is of."""
    if each.profile is None:
        return load_model(each.model, None, loading)
    model = each.manifest.model
    if model.path is not None and not Path(model.path).is_dir():
        raise UserError(
            f"{each.given} profiled the model in {model.path}, which is not there; put it back, or profile it again"
        )
    revision = None if model.path is not None else loading.revision or model.revision  # only the Hub keeps revisions
    try:
        return load_by_name(model.path or model.id, replace(loading, revision=revision))
    except UserError as error:
        raise UserError(f"the model of {each.given} is needed here, but {error}") from error


def _options_of(each: CompareInput) -> dict[str, Any]:
    """How a profile was made, so that another can be made the same way; nothing for a model."""
    if each.profile is None:
        return {}
    section = each.manifest.settings
    options = {field.name: section[field.name] for field in fields(ProfileSettings) if field.name in section}
    if options.get("blocks") == GIVEN:
        raise UserError(f"{each.given} swapped blocks that were passed in and are not stored; profile it again")
    options |= {name: tuple(options[name]) for name in ("scores", "layers", "heads") if name in options}
    options["tau"] = tuple(float(tau) for tau in options.get("tau") or (1e-4,))
    for name, kind in (("positional", PositionalSettings), ("random", RepeatedSettings)):
        if options.get(name):
            options[name] = kind(**options[name])
    return options
