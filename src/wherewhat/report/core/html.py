"""Write HTML so that text can never become markup: every string is escaped unless a tag made it.

What is placed between tags may be an object that writes its own HTML, such as a chart. The markup remembers these
objects, so that a page can collect from its body everything that must be drawn.
"""

import re
from html import escape
from typing import Any

UNSOUND = re.compile("[\0\ud800-\udfff]")
VOID = frozenset({"input", "br", "meta", "img", "line", "circle", "rect"})


class Html(str):
    """Text that is already markup, and the objects that were placed in it."""

    placed: tuple[Any, ...] = ()

    @classmethod
    def holding(cls, markup: str, placed: tuple[Any, ...]) -> "Html":
        """Markup in which these objects were placed."""
        made = cls(markup)
        made.placed = placed
        return made


def text(value: object) -> Html:
    """Escape anything for use between tags or inside quotes.

    >>> text('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    if isinstance(value, Html):
        return value
    if hasattr(value, "__html__"):  # something that knows its own markup
        own: Html = value.__html__()
        return own
    return Html(escape(sound(str(value)), quote=True))


def sound(value: str) -> str:
    """Replace what UTF-8 or HTML cannot carry (lone surrogates, the null character) by a visible mark.

    >>> sound("a" + chr(0xD800) + chr(0))
    'a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}'
    """
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", value)


def tag(name: str, *children: object, **attributes: object) -> Html:
    """Make one element; `_` in an attribute's name becomes `-`, and a trailing one is dropped.

    >>> tag("p", "a < b", class_="note", aria_hidden=True, hidden=False)
    '<p class="note" aria-hidden="true">a &lt; b</p>'

    A cell of a table that knows its number keeps it (see `formatting.Number`), so that a file can have more digits.
    """
    if name in ("td", "th") and len(children) == 1 and (exact := getattr(children[0], "exact", None)):
        attributes["data_exact"] = " ".join("-" if value is None else f"{value:.6g}" for value in exact)
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{opening}>" if name in {"input", "br", "meta", "img"} else f"<{opening}/>")
    inner = join(*children)
    return Html.holding(f"<{opening}>{inner}</{name}>", inner.placed)


def prose(words: str) -> Html:
    """Write a sentence in which names are between backquotes.

    >>> prose("Here `next` has no value <yet>.")
    'Here <code>next</code> has no value &lt;yet&gt;.'
    """
    return join(*(tag("code", piece) if odd % 2 else piece for odd, piece in enumerate(words.split("`"))))


def join(*parts: object) -> Html:
    """Put pieces one after the other; nothing stands for None."""
    pieces = [text(part) for part in parts if part is not None]
    return Html.holding("".join(pieces), tuple(placed for piece in pieces for placed in piece.placed))


def _attribute(key: str, value: object) -> str:
    if value is False or value is None:
        return ""
    return f' {key.rstrip("_").replace("_", "-")}="{text("true" if value is True else value)}"'
