"""Tokens as text: words apart where the tokenizer saw a space, pieces of words together, and nothing invisible."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

WORD_START = "▁"  # SentencePiece: a space before the token
BYTE_SPACE, BYTE_LINE = "Ġ", "Ċ"  # byte-level tokenizers: a space, a new line
PIECE = "##"  # WordPiece: the token goes on where the last one ended
BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
CONTINUED = "⋅"  # in place of a token that only goes on with a character
LONGEST = 4  # bytes of a character in UTF-8
SIGNS = str.maketrans({"\n": "↵", "\t": "⇥", "\r": "␍", "\0": "␀"})


@dataclass(frozen=True)
class TokenText:
    """A token as it is read: with a space before it, or joined to the one before."""

    text: str
    spaced: bool


def token_texts(tokens: Sequence[str]) -> list[TokenText]:
    """Every token as text, by the signs that tokenizers write for spaces.

    >>> [(each.text, each.spaced) for each in token_texts(["▁Once", "▁up", "on", "."])]
    [('Once', True), ('up', True), ('on', False), ('.', False)]
    >>> [(each.text, each.spaced) for each in token_texts(["ĠcafÃ©", "s", "Ċ"])]
    [('café', True), ('s', False), ('↵', False)]
    >>> [(each.text, each.spaced) for each in token_texts(["play", "##ing", "chess"])]
    [('play', True), ('ing', False), ('chess', True)]
    >>> [(each.text, each.spaced) for each in token_texts(["ĠæĹ", "¥", "!"])]  # a character in two tokens
    [('日', True), ('⋅', False), ('!', False)]
    """
    if any(WORD_START in token or BYTE.fullmatch(token) for token in tokens):
        return _joined([_of_sentence_piece(token) for token in tokens])
    if _is_of_bytes(tokens):
        return _joined([_of_bytes(token) for token in tokens])
    return [_of_words(token) for token in tokens]


def token_text(token: str, beside: Sequence[str] = ()) -> str:
    """One token as text; the tokens `beside` it tell how spaces are written.

    >>> token_text("▁to"), token_text("Ċ")
    ('to', '↵')
    """
    return token_texts([*beside, token])[-1].text


def quoted(words: str) -> str:
    """A token in quotation marks, and never long.

    >>> quoted("her")
    '“her”'
    """
    return f"“{words if len(words) <= 40 else words[:37] + '…'}”"


def _of_words(token: str) -> TokenText:
    joined = token.startswith(PIECE) and token != PIECE
    return TokenText(_visible(token.removeprefix(PIECE) if joined else token), not joined)


def _of_sentence_piece(token: str) -> bytes | str:
    if byte := BYTE.fullmatch(token):
        return bytes([int(byte[1], 16)])
    return token.replace(WORD_START, " ").encode()


def _is_of_bytes(tokens: Sequence[str]) -> bool:
    """Whether a byte-level tokenizer wrote them: it has signs for spaces, and its other signs are those of UTF-8."""
    if any(sign in token for token in tokens for sign in (BYTE_SPACE, BYTE_LINE)):
        return True
    data = b"".join(part for token in tokens if isinstance(part := _of_bytes(token), bytes))
    try:
        return not data.decode().isascii()
    except UnicodeDecodeError:
        return False


def _of_bytes(token: str) -> bytes | str:
    """The bytes of a token; a special token as it is."""
    known = _byte_of()
    return bytes(known[sign] for sign in token) if all(sign in known for sign in token) else token


def _joined(tokens: Sequence[bytes | str]) -> list[TokenText]:
    """Tokens as text. A character that several of them share stands in the first, and the others go on with a sign."""
    data = b"".join(token for token in tokens if isinstance(token, bytes))
    owners = [number for number, token in enumerate(tokens) if isinstance(token, bytes) for _ in token]
    texts, first = [token if isinstance(token, str) else "" for token in tokens], 0
    while first < len(data):
        character, length = _first_character(data[first : first + LONGEST])
        texts[owners[first]] += character
        first += length
    return [
        TokenText(CONTINUED, False)
        if token and not text
        else TokenText(_visible(text.removeprefix(" ") if text.strip() else text), text.startswith(" "))
        for token, text in zip(tokens, texts, strict=True)
    ]


def _first_character(data: bytes) -> tuple[str, int]:
    """The character that bytes begin with and how many of them it takes; part of one is a replacement sign."""
    for length in range(1, len(data) + 1):
        try:
            return data[:length].decode(), length
        except UnicodeDecodeError:
            continue
    return "\N{REPLACEMENT CHARACTER}", 1


def _visible(text: str) -> str:
    """Text with signs for what cannot be seen."""
    return text.translate(SIGNS) if text.strip(" ") else "␣" * len(text) or "∅"


@cache
def _byte_of() -> dict[str, int]:
    """The byte that every sign of a byte-level tokenizer stands for (GPT-2's table)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + number): byte for number, byte in enumerate(others)}
