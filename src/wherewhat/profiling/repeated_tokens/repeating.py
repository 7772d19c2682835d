"""How random tokens are drawn and repeated."""

from dataclasses import dataclass

from wherewhat.errors import UserError

LEAST = 2  # tokens in a block: the shortest in which something follows something else


@dataclass(frozen=True)
class Repeating:
    """A block of random tokens is said twice, in many sequences."""

    length: int = 32  # of a block
    sequences: int = 50
    seed: int = 0
    batch_tokens: int = 2048  # padded tokens that run through the model together

    def __post_init__(self) -> None:
        least = {"length": LEAST, "sequences": 1, "batch_tokens": 1, "seed": 0}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise UserError(f"repeated tokens cannot have {name} {getattr(self, name)}; give at least {value}")
