"""The sections that say where the numbers came from: the texts, and how the run was made."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wherewhat.formatting import count, duration, large, memory
from wherewhat.report.blocks.layout import definitions
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Section
from wherewhat.tables.manifest.decode import encode
from wherewhat.tables.manifest.sections import LayerSection, Manifest, ModelSection, TextsSection

TOKENS = 100  # shown of one text
VISIBLE = str.maketrans({"\n": "↵", "\t": "⇥", "\r": "␍"})


def texts_section(texts: TextsSection) -> Section:
    """The first texts, token by token, as the model read them."""
    source = tag("p", tag("span", texts.source), class_="source") if texts.source else ""
    shown = [_chips(example.tokens, number) for number, example in enumerate(texts.example) if example.tokens]
    body = join(*shown) if shown else tag("p", "The run kept no example of its texts.", class_="note")
    windows = texts.windows if texts.windows != texts.count else None
    counted = ((texts.count, "text"), (windows, "window"), (texts.tokens, "token"))
    counts = [count(number, noun) for number, noun in counted if number]
    lede = f"{' with '.join(counts)} in all; the first as the model read them." if counts else "As the model read them."
    return Section("texts", "The texts", lede, join(source, body), "Texts")


def _chips(tokens: Sequence[str], number: int) -> Html:
    """The tokens of a text; invisible characters are written as signs, and each token keeps its direction."""
    chips = [tag("li", tag("bdi", token.translate(VISIBLE) or "∅")) for token in tokens[:TOKENS]]
    rest = len(tokens) - TOKENS
    more = [tag("li", f"and {count(rest, 'more token', 'more tokens')}", class_="more")] if rest > 0 else []
    return tag("ol", *chips, *more, class_="tokens", aria_label=f"tokens of text {number + 1}")


def provenance_section(
    manifest: Manifest,
    *,
    model: ModelSection | None = None,
    texts: TextsSection | None = None,
    layers: Sequence[LayerSection] = (),
    notes: Sequence[str] = (),
) -> Section:
    """Everything needed to get the same numbers again; `notes` come before the manifest's own."""
    listed = [tag("li", prose(note)) for note in (*notes, *manifest.notes)]
    groups = {
        "Model": _model_rows(model),
        "Texts": fields_in_words(
            {name: value for name, value in encode(texts or TextsSection()).items() if name != "example"}
        ),
        "Run": _run_rows(manifest),
        "Versions": fields_in_words(manifest.versions),
        "Settings": fields_in_words(manifest.settings),
    }
    sections = [tag("section", tag("h3", title), definitions(rows)) for title, rows in groups.items() if rows]
    body = join(
        _command(manifest.command) if manifest.command else "",
        tag("ul", *listed, class_="notes") if listed else "",
        tag("div", *sections, class_="made"),
        _modules(layers),
    )
    lede = "Same command, same texts, same weights, same versions: the same numbers."
    return Section("made", "How this was made", lede, body, "Made")


def _command(command: str) -> Html:
    copy = tag("button", "Copy", type="button", data_widget="copy", class_="copy")
    return tag("div", tag("pre", tag("code", command)), copy, class_="command")


def _model_rows(model: ModelSection | None) -> list[tuple[str, str]]:
    """The model's fields, with those of its config beside them if it is one of our nets."""
    if model is None:
        return []
    rows = {name: value for name, value in encode(model).items() if name != "config"}
    rows |= {"parameters": None if model.parameters is None else large(model.parameters)}
    known = {name for name, value in rows.items() if value is not None}
    return fields_in_words(rows | {name: value for name, value in (model.config or {}).items() if name not in known})


def _run_rows(manifest: Manifest) -> list[tuple[str, str]]:
    names = ("tool", "git_commit", "seed", "dtype", "device", "platform")
    rows = {name: getattr(manifest, name) for name in names}
    rows |= {"took": None if manifest.seconds is None else duration(manifest.seconds)}
    return fields_in_words(
        rows | {"peak memory": memory(manifest.peak_memory_bytes) if manifest.peak_memory_bytes else None}
    )


def fields_in_words(values: Mapping[str, Any], write: Callable[[Any], str] = str) -> list[tuple[str, str]]:
    """Names and values as text, without those that are empty; `write` writes a single number or name."""

    def words(value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Mapping):
            return ", ".join(f"{str(name).replace('_', ' ')} {words(inner)}" for name, inner in value.items())
        return ", ".join(map(words, value)) if isinstance(value, list | tuple) else write(value)

    empty: tuple[Any, ...] = (None, "", [], {}, ())
    return [(name.replace("_", " "), words(value)) for name, value in values.items() if value not in empty]


def _modules(layers: Sequence[LayerSection]) -> Html | str:
    """Which module of the model each layer is, folded away."""
    rows = [tag("li", f"L{each.layer} {each.part} ", tag("code", each.module)) for each in layers if each.module]
    listed = tag("ul", *rows, class_="modules")
    return tag("details", tag("summary", "Which module each layer is"), listed) if rows else ""
