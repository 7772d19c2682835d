"""What to know about an encoding before choosing it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wherewhat.encodings.base import Encoding


@dataclass(frozen=True)
class EncodingRecord:
    """One encoding, with all that is needed to choose it."""

    cls: type[Encoding]
    about: str  # one line, for someone new
    acts: str  # where in the net
    parameters: str  # what is learned, in words
    direction: str  # "causal only", or "either" and what to know about it
    kernel: str  # "fused", "fused with a float bias", "its own" or "explicit"
    growth: str  # extra time and memory as sequences grow to n tokens
    paper: str
    options: Mapping[str, str] = field(default_factory=dict)  # what each choice that a net leaves open means
    wraps: str | None = None  # the encoding that it wraps unless told otherwise; None: it is no wrapper

    @property
    def name(self) -> str:
        """What it is called where it is chosen."""
        return self.cls.name
