"""What is compared in an evaluation, and how tokens are ordered and taken away."""

from dataclasses import dataclass

from wherewhat.attribution.evaluation.arms import RANDOM
from wherewhat.attribution.evaluation.curves import ORDERS
from wherewhat.attribution.evaluation.segmentation import PERMUTATIONS
from wherewhat.attribution.evaluation.variants import REPLACE, WAYS
from wherewhat.attribution.explain import METHODS
from wherewhat.errors import UserError, suggests_fields
from wherewhat.names import look_up


@suggests_fields
@dataclass(frozen=True)
class EvaluationSettings:
    """Random orders are always part of it, and so are those from left to right and from right to left."""

    methods: tuple[str, ...] = tuple(method for method in METHODS if method != RANDOM)
    order: str = "signed"  # or "published"
    replace: str = REPLACE  # or "delete"
    max_texts: int = 100  # if none are given
    draws: int = 10  # random orders per text
    permutations: int = PERMUTATIONS  # of scores, for the chance level of segmentation
    seed: int = 0

    def __post_init__(self) -> None:
        for method in self.methods:
            look_up("method", method, METHODS)
        look_up("order", self.order, ORDERS)
        look_up("way to take tokens away", self.replace, WAYS)
        if not self.methods or RANDOM in self.methods:
            raise UserError("an evaluation compares methods with random orders; name at least one other method")
        for name in ("max_texts", "draws", "permutations"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}; give at least 1")
