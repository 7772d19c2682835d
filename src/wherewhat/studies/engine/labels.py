"""What encodings are called where people read them, the same in claims, in notes and on pages. Torch-free."""

LABELS = {  # other encodings have their own names
    "none": "NoPE",
    "t5_bias": "T5 bias",
    "alibi": "ALiBi",
    "rope_quarter": "partial RoPE",
    "sinusoidal": "sinusoids",
    "rope": "full RoPE",
}


def label(encoding: str) -> str:
    """What an encoding is called.

    >>> label("rope_quarter"), label("dape_v2")
    ('partial RoPE', 'dape v2')
    """
    return LABELS.get(encoding, encoding.replace("_", " "))
