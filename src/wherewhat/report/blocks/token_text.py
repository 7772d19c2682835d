"""Tokens as text: words apart where the tokenizer saw a space, pieces of words together, and nothing invisible."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

WORD_START = "▁"  # SentencePiece: a space before the token
BYTE_SPACE, BYTE_LINE = "Ġ", "Ċ"  # byte-level tokenizers: a space, a new line
PIECE = "##"  # WordPiece: the token goes on where the last one ended
BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
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
    """
    if any(WORD_START in token for token in tokens):
        return [_of_sentence_piece(token) for token in tokens]
    if any(sign in token for token in tokens for sign in (BYTE_SPACE, BYTE_LINE)):
        return [_of_bytes(token) for token in tokens]
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


def _of_sentence_piece(token: str) -> TokenText:
    spaced, text = token.startswith(WORD_START), token.replace(WORD_START, " ")
    if byte := BYTE.fullmatch(token):
        text = _decoded(bytes([int(byte[1], 16)]))
    return TokenText(_visible(text.removeprefix(" ") if text.strip() else text), spaced)


def _of_bytes(token: str) -> TokenText:
    known = _byte_of()
    if not all(sign in known for sign in token):  # a special token
        return TokenText(_visible(token), False)
    text = _decoded(bytes(known[sign] for sign in token))
    return TokenText(_visible(text.removeprefix(" ") if text.strip() else text), text.startswith(" "))


def _decoded(data: bytes) -> str:
    """Text of bytes; part of a character is a replacement sign."""
    return data.decode("utf-8", errors="replace")


def _visible(text: str) -> str:
    """Text with signs for what cannot be seen."""
    return text.translate(SIGNS) if text.strip(" ") else "␣" * len(text) or "∅"


@cache
def _byte_of() -> dict[str, int]:
    """The byte that every sign of a byte-level tokenizer stands for (GPT-2's table)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + number): byte for number, byte in enumerate(others)}
