"""Scratchpads: what a net writes before its answer, step by step, so that no step is hard (arXiv 2305.19466).

    <think> in 7 , 8 comp 7 + 8 + carry = 1 5 + 0 = 1 5 out 5 [ carry : 1 ] re 5 + 0 # ... <thus> 6 5

A step has up to five parts, each behind its marker. A format says which of them are written. Parts are defined as the
released text; the compact form has the same text in tokens, without blanks.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

THINK, THUS, NEXT_STEP = "<think>", "<thus>", "#"
BEFORE, AFTER = "Thinking step by step:  ", "  . Thus,  "  # the released text around the steps
MINIMUM = "The minimum of the unsorted portion"  # the computation of every step of sorting, one token where compact
MARKERS = {"input": "in", "computation": "comp", "output": "out", "variables": "[", "rest": "re"}
PARTS = tuple(MARKERS)
NONE = "none"
FORMATS: dict[str, tuple[str, ...]] = {
    NONE: (),
    "minimal": ("computation", "output"),
    "full": PARTS,
    **{f"no_{left_out}": tuple(part for part in PARTS if part != left_out) for left_out in PARTS},
}
TOKEN = re.compile(rf"{MINIMUM}|[+-]1|\*\*|[a-z]{{2,}}|\S")  # +1 and -1 without a blank are values of LEGO
Step = Mapping[str, str]  # the text of each part


def written(step: Step, parts: Collection[str]) -> str:
    """The released text of a step.

    >>> written({"input": "7, 8", "output": "5", "variables": "carry: 1", "rest": "5 + 0"}, FORMATS["full"])
    'in 7, 8 out 5 [ carry: 1 ] re 5 + 0 '
    """
    close = {"variables": " ]", "rest": " "}
    return " ".join(
        f"{marker} {step[part]}{close.get(part, '')}"
        for part, marker in MARKERS.items()
        if part in parts and part in step
    )


def text_of(steps: Sequence[Step], parts: Collection[str]) -> str:
    """All steps of a scratchpad as the released text."""
    return f" {NEXT_STEP} ".join(written(step, parts) for step in steps)


def tokens_of(text: str) -> list[str]:
    """The compact tokens of a released text.

    >>> tokens_of("comp 7 + 8 + carry = 15 out 5 [ carry: 1 ]")
    ['comp', '7', '+', '8', '+', 'carry', '=', '1', '5', 'out', '5', '[', 'carry', ':', '1', ']']
    """
    return ["min" if token == MINIMUM else token for token in TOKEN.findall(text)]


def read_step(tokens: Sequence[str], parts: Collection[str]) -> dict[str, tuple[str, ...]] | None:
    """The parts of a step from its compact tokens; None if they are not these parts, each once and in their order.

    Brackets also occur inside the rest of sorting and parity: only the first `[` after other parts opens variables.

    >>> read_step("comp 1 + 1 out 2".split(), ["computation", "output"])
    {'computation': ('1', '+', '1'), 'output': ('2',)}
    >>> read_step("comp 1 + 1".split(), ["computation", "output"])
    """
    left, contents = list(tokens), dict[str, tuple[str, ...]]()
    expected = [(part, marker) for part, marker in MARKERS.items() if part in parts]
    for number, (part, marker) in enumerate(expected):
        if not left or left[0] != marker:
            return None
        following = expected[number + 1][1] if number + 1 < len(expected) else None
        if following is not None and following not in left[1:]:
            return None
        end = len(left) if following is None else left.index(following, 1)
        content, left = left[1:end], left[end:]
        if part == "variables" and (not content or content.pop() != "]"):
            return None
        contents[part] = tuple(content)
    return contents


def read_steps(tokens: Sequence[str], parts: Collection[str]) -> list[dict[str, tuple[str, ...]] | None]:
    """Every step of a scratchpad from its compact tokens; None for one that cannot be read, such as an empty one.

    >>> read_steps("comp 1 out 2 # # comp 3".split(), ["computation", "output"])
    [{'computation': ('1',), 'output': ('2',)}, None, None]
    """
    ends = [place for place, token in enumerate(tokens) if token == NEXT_STEP]
    bounds = zip([0, *(end + 1 for end in ends)], [*ends, len(tokens)], strict=True)
    return [read_step(tokens[begin:end], parts) for begin, end in bounds] if tokens else []


@dataclass(frozen=True)
class ScratchpadScore:
    """How much of a written scratchpad is right."""

    parts: Mapping[str, float]  # the share of steps in which a part is right; 0 where a step is missing or unreadable
    unreadable: float  # the share of steps that cannot be read


def scored(output: Sequence[str], correct: Sequence[str], parts: Collection[str]) -> ScratchpadScore:
    """Compare a scratchpad with the correct one, both as compact tokens.

    If the number of steps is wrong, or one of them cannot be read, no part of any step is right.

    >>> scored("comp 1 out 2 # comp 3 out 5".split(), "comp 1 out 2 # comp 3 out 4".split(), FORMATS["minimal"])
    ScratchpadScore(parts={'computation': 1.0, 'output': 0.5}, unreadable=0.0)
    """
    steps, truth = read_steps(output, parts), read_steps(correct, parts)
    unreadable = float(np.mean([step is None for step in steps])) if steps else 1.0
    comparable = len(steps) == len(truth) and not unreadable
    pairs = list(zip(steps, truth, strict=True)) if comparable else []
    right = {
        part: [step is not None and real is not None and step[part] == real[part] for step, real in pairs]
        for part in parts
    }
    return ScratchpadScore({part: float(np.mean(each)) if each else 0.0 for part, each in right.items()}, unreadable)
