"""The sections that say where the numbers came from: the texts, and how the run was made."""

from collections.abc import Mapping, Sequence
from typing import Any

from wherewhat.report.measured import Manifest
from wherewhat.report.numbers import count, duration, large, memory
from wherewhat.report.page import Section
from wherewhat.report.tags import Html, join, prose, tag

TOKENS = 100  # shown of one text
VISIBLE = str.maketrans({"\n": "↵", "\t": "⇥", "\r": "␍"})


def the_texts(manifest: Manifest) -> Section:
    """The first texts, token by token, as the model saw them."""
    texts = manifest.get("texts") or {}
    examples = [example.get("tokens") or [] for example in texts.get("example") or ()]
    known = [tag("span", texts["source"])] if texts.get("source") else []
    shown = [_chips(tokens, number) for number, tokens in enumerate(examples) if tokens]
    body = join(*shown) if shown else tag("p", "The run kept no example of its texts.", class_="note")
    cut = [("windows", "window")] if texts.get("windows") != texts.get("count") else []
    kinds = [("count", "text"), *cut, ("tokens", "token")]
    counts = [count(texts[key], one) for key, one in kinds if texts.get(key)]
    lede = f"{' with '.join(counts)} in all; the first as the model saw them." if counts else "As the model saw them."
    return Section("texts", "The texts", lede, join(tag("p", *known, class_="source") if known else "", body), "Texts")


def _chips(tokens: Sequence[str], number: int) -> Html:
    chips = [tag("li", _token(token)) for token in tokens[:TOKENS]]
    rest = len(tokens) - TOKENS
    more = [tag("li", f"and {count(rest, 'more token', 'more tokens')}", class_="more")] if rest > 0 else []
    return tag("ol", *chips, *more, class_="tokens", aria_label=f"tokens of text {number + 1}")


def _token(token: str) -> Html:
    """One token; what would not be seen is written as a sign, and its direction stays its own."""
    return tag("bdi", str(token).translate(VISIBLE) or "∅")


def how_it_was_made(manifest: Manifest) -> Section:
    """The manifest: enough to make the same numbers again."""
    command = manifest.get("command")
    notes = [tag("li", prose(str(note))) for note in manifest.get("notes") or ()]
    body = join(
        _command(str(command)) if command else "",
        tag("ul", *notes, class_="notes") if notes else "",
        tag("div", *(_group(title, rows) for title, rows in _groups(manifest) if rows), class_="made"),
        _modules(manifest.get("layers") or ()),
    )
    lede = "Same command, same texts, same weights, same versions: the same numbers."
    return Section("made", "How this was made", lede, body, "Made")


def _command(command: str) -> Html:
    copy = tag("button", "Copy", type="button", data_widget="copy", class_="copy")
    return tag("div", tag("pre", tag("code", command)), copy, class_="command")


def _groups(manifest: Manifest) -> list[tuple[str, list[tuple[str, str]]]]:
    model, texts = dict(manifest.get("model") or {}), dict(manifest.get("texts") or {})
    texts.pop("example", None)
    net = model.pop("config", None) or {}  # of one of our own: its fields beside those of the model
    model |= {name: value for name, value in net.items() if name not in model}
    if "parameters" in model:
        model["parameters"] = large(model["parameters"])
    return [
        ("Model", _rows(model)),
        ("Texts", _rows(texts)),
        ("Run", _run(manifest)),
        ("Versions", _rows(manifest.get("versions") or {})),
        ("Settings", _rows(manifest.get("settings") or {})),
    ]


def _run(manifest: Manifest) -> list[tuple[str, str]]:
    rows = _rows(
        {name: manifest.get(name) for name in ("tool", "version", "git_commit", "seed", "dtype", "device", "platform")}
    )
    if manifest.get("seconds") is not None:
        rows.append(("took", duration(manifest["seconds"])))
    if manifest.get("peak_memory_bytes"):
        rows.append(("peak memory", memory(manifest["peak_memory_bytes"])))
    return rows + _rows({"created": manifest.get("created")})


def _rows(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " "), _said(value)) for name, value in values.items() if value not in (None, "", [], {}, ())
    ]


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_said(item)}" for name, item in value.items())
    return ", ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value)


def _group(title: str, rows: Sequence[tuple[str, str]]) -> Html:
    entries = [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows]
    return tag("section", tag("h3", title), tag("dl", *entries))


def _modules(layers: Sequence[Mapping[str, Any]]) -> Html | str:
    """Which module of the model each layer is, folded away."""
    named = [layer for layer in layers if layer.get("module")]
    if not named:
        return ""
    rows = [tag("li", f"L{layer['layer']} {layer.get('part', '')} ", tag("code", layer["module"])) for layer in named]
    return tag("details", tag("summary", "Which module each layer is"), tag("ul", *rows, class_="modules"))
