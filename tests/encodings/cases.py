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
    ("sinusoidal", {"grid": [1000, 3]}),
    ("sinusoidal", {"place": "block"}),
    ("learned", {"sigma": 1.0}),
    ("learned", {"sigma": 1.0, "place": "block"}),
    # added to the logits, from positions alone
    ("alibi", {}),
    ("kerple", {}),
    ("kerple", {"kind": "power"}),
    ("t5_bias", {}),
    ("t5_bias", {"buckets": 8, "max_distance": 6, "scale": 1.0}),
    ("toeplitz", {"sigma": 0.5}),
    ("fire", {"threshold": 4.0}),
    ("fire", {"threshold": 14.0}),
    ("attenuated", {}),
    ("attenuated", {"s": 0.25, "inject": "log"}),
    ("attenuated", {"s": 0.25, "w": 0.1}),
    ("attenuated", {"learn": "table"}),
    ("attenuated", {"learn": "table", "inject": "log", "each": "block"}),
    ("attenuated", {"learn": "ws", "s": 0.5}),
    ("attenuated", {"learn": "ws", "inject": "log", "each": "block"}),
    ("leaning", {}),
    ("leaning", {"w": 0.5, "start": 0.0}),
    ("leaning", {"learn": "none"}),
    # added to the logits, from positions and contents
    ("shaw", {"clip": 3, "sigma": 0.5}),
    ("transformer_xl", {"sigma": 0.2}),
    ("transformer_xl", {"sigma": 0.2, "layout": "interleaved", "bias_init": "zeros"}),
    ("deberta", {"span": 4, "sigma": 0.3}),
    ("deberta", {"sign": "checkpoint", "sigma": 0.3}),
    ("deberta", {"span": 8, "buckets": 4, "sigma": 0.3}),
    # queries and keys that turn
    ("rope", {"base": 100.0}),
    ("rope", {"base": 100.0, "layout": "interleaved"}),
    ("rope", {"base": 100.0, "rotary_dim": 4}),
    ("rope", {"base": 100.0, "rotary_dim": 4, "layout": "interleaved"}),
    ("rope", {"base": 100.0, "scaling": {"kind": "yarn", "factor": 4, "original_length": 64}}),
    ("rope", {"base": 100.0, "scaling": {"kind": "dynamic", "factor": 2, "original_length": 4, "length": 14}}),
    ("p_rope", {"base": 100.0, "p": 0.7}),
    ("p_rope", {"base": 100.0, "p": 0.7, "end": "low", "layout": "interleaved"}),
    ("band_rope", {"base": 100.0, "drop": "index:1"}),
    ("band_rope", {"keep": "index:0,2", "angle": 0.5}),
    ("xpos", {"span": 8.0}),
    ("xpos", {"span": 8.0, "layout": "interleaved"}),
    ("untwist", {"base": 100.0, "high": 0.25, "low": 1.4}),
    ("untwist", {"base": 100.0, "high": 0.25, "low": 1.4, "which": [2, 5]}),
    ("rollpe", {}),
    ("rollpe", {"step": 0.3}),
    ("carope", {}),
    ("carope", {"first": 1, "layout": "interleaved"}),
    ("rope", {"scaling": {"kind": "linear", "factor": 4.0}}),
    ("rope", {"scaling": {"kind": "ntk", "factor": 4.0}}),
    ("rope", {"scaling": {"kind": "llama3", "original_length": 16}}),
    (
        "rope",
        {
            "scaling": {
                "kind": "longrope",
                "short_factor": [1, 2, 3],
                "long_factor": [2, 3, 4],
                "original_length": 64,
                "factor": 4.0,
            }
        },
    ),
    ("xpos", {"span": 3.0}),
    # reflections
    ("path", {"rank": 4}),
    ("path", {"rank": 4, "conv": 1, "chunk": 4}),
    ("path_fox", {"rank": 4, "chunk": 3}),
    ("path_fox", {"rank": 4, "gate_scaled": True}),
    # from the contents on the way
    ("cope", {"positions": 5, "sigma": 0.5}),
    # wrapped around another
    ("dape", {}),
    ("dape", {"over": "alibi", "hidden": 3}),
    ("dape", {"over": "none"}),
    ("dape", {"over": "rope", "over_options": {"base": 100.0}}),
    ("dape", {"over": "fire", "over_options": {"threshold": 4.0}}),
    ("dape", {"over": "deberta", "over_options": {"span": 4, "sigma": 0.3}}),
    ("dape", {"over": "path_fox"}),
    ("dape_v2", {}),
    ("dape_v2", {"over": "alibi", "kernel": 5}),
    ("dape_v2", {"over": "none", "kernel": 1}),
    ("dape_v2", {"over": "rope", "over_options": {"base": 100.0}}),
    ("dape_v2", {"over": "fire", "over_options": {"threshold": 4.0}, "hidden": 3}),
    ("dape_v2", {"over": "sinusoidal"}),
    ("dape_v2", {"over": "carope"}),
    ("urpe", {}),
    ("urpe", {"over": "alibi"}),
    ("urpe", {"over": "none", "kind": "bucket", "buckets": 4}),
    ("urpe", {"over": "t5_bias"}),
    ("urpe", {"over": "path"}),
    ("urpe", {"over": "fire", "over_options": {"threshold": 4.0}, "kind": "bucket"}),
    ("urpe", {"over": "rope", "over_options": {"base": 100.0}}),
]
