"""Encodings with options under which every promise is tried. Each encoding is here at least once."""

from wherewhat.encodings.registry import Shape

B, T, H, C = 2, 11, 4, 6
SHAPE = Shape(width=H * C, heads=H, head_dim=C, length=64)

Case = tuple[str, dict[str, object]]
CASES: list[Case] = [
    ("none", {}),
    # added to the tokens
    ("sinusoidal", {}),
    ("sinusoidal", {"layout": "concat", "token_scale": 2.0}),
    ("learned", {"sigma": 1.0}),
    ("learned", {"sigma": 1.0, "place": "block"}),
    # added to the logits, from positions alone
    ("alibi", {}),
    # added to the logits, from positions and contents
    # queries and keys that turn
    ("rope", {"base": 100.0}),
    ("rope", {"base": 100.0, "layout": "interleaved"}),
    ("rope", {"base": 100.0, "rotary_dim": 4}),
    ("rope", {"base": 100.0, "rotary_dim": 4, "layout": "interleaved"}),
    # reflections
    # from the contents on the way
    # wrapped around another
]
