"""The tasks of length generalisation solved from their released text, each in another way than in the package."""

import re
from collections.abc import Callable

from wherewhat.tasks.stream import Stream

DIGITS, SMALL, CAPITALS = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SIGNS = "!$%&()*+,-./:;<=>"


def within(before: str, text: str, after: str) -> str:
    """What stands between two ends, which have to be there."""
    assert text.startswith(before) and text.endswith(after), text
    return text[len(before) : len(text) - len(after)]


def copied(prompt: str) -> str:
    return within("Copy: ", prompt, " [SEP] ")


def reversed_text(prompt: str) -> str:
    """Characters with single blanks between them: the text backwards is the list backwards."""
    return within("Reverse: ", prompt, " [SEP] ")[::-1]


def replaced(prompt: str) -> str:
    old, _, new, _, *rest = within("Replace ", prompt, " [SEP] ").split(" ")
    assert set(rest) == {old} != {new}
    return " ".join(rest).replace(old, new)


def added(prompt: str) -> str:
    first, second = within("Compute ", prompt, " ? ").replace(" ", "").split("+")
    return f"The answer is {' '.join(str(int(first) + int(second)))}."


def summed(prompt: str) -> str:
    return f"The answer is {eval(within('Compute: ', prompt, ' .[SEP] ')) % 10} ."


def evaluated(prompt: str) -> str:
    """The released polynomial is an expression of Python."""
    x, polynomial = within("Evaluate at x = ", prompt, " ? ").split(" in ")
    return f"The answer is {eval(polynomial, {'x': eval(x)}) % 10}."


def parity(prompt: str) -> str:
    bits = within("Is the number of 1's even in the sequence [ ", prompt, " ] ? ").replace(", ", "")
    return f"The answer is {'No' if int(bits, 2).bit_count() % 2 else 'Yes'}."


def sorted_single(prompt: str) -> str:
    items = within("Sort the following list [ ", prompt, " ]. ").split(", ")
    in_order = [item for kind in (DIGITS, SMALL, CAPITALS) for item in sorted(set(kind) & set(items))]
    return f"The sorted list is [ {', '.join(item for each in in_order for item in [each] * items.count(each))} ]."


def sorted_multi(prompt: str) -> str:
    numbers = [int(item.replace(" ", "")) for item in within("Sort the following list [ ", prompt, " ]. ").split(",")]
    return f"The sorted list is [ {', '.join(' '.join(str(number)) for number in sorted(numbers))} ]."


def lego(prompt: str) -> str:
    """Every clause is an assignment of Python."""
    chain, query = within("If ", prompt, "? ").split(". Then, what is the value of ")
    values: dict[str, int] = {}
    for clause in chain.split(", "):
        exec(clause, {}, values)
    return f"The answer is {'+1' if values[query] == 1 else '-1'}."


def scan(prompt: str) -> str:
    return " ".join(actions(within("Solve: ", prompt, "[SEP] ")))


def actions(command: str) -> list[str]:
    """An interpreter of SCAN: the last word says what is done with the words before it."""
    for word, order in ((" and ", (0, 1)), (" after ", (1, 0))):
        if word in command:
            halves = command.split(word)
            return [action for half in order for action in actions(halves[half])]
    *before, last = command.split()
    if last in ("twice", "thrice"):
        return actions(" ".join(before)) * (2 if last == "twice" else 3)
    if last in ("left", "right"):
        verb, *how = before
        one_turn, one_act = [last.title()], actions(verb)
        if how == ["around"]:
            return (one_turn + one_act) * 4
        return one_turn * (2 if how == ["opposite"] else 1) + one_act
    return [] if last == "turn" else [last.title()]


def pcfg(prompt: str) -> str:
    """A stack machine: words are read from the last to the first; a function takes its arguments from the stack."""
    stack, here = list[list[str]](), list[str]()
    for word in reversed(within("Solve: ", prompt, "[SEP] ").split(" ")):
        if re.fullmatch("[A-Z][0-9]+", word):
            here.insert(0, word)
            continue
        if here:
            stack.append(here)
            here = []
        if word in ("append", "prepend", "remove_first", "remove_second"):
            x, y = stack.pop(), stack.pop()
            stack.append({"append": x + y, "prepend": y + x, "remove_first": y, "remove_second": x}[word])
        elif word != ",":
            x = stack.pop()
            swapped = x[-1:] + x[1:-1] + x[:1] if len(x) > 1 else x
            unary = {"copy": x, "reverse": x[::-1], "shift": x[1:] + x[:1], "swap_first_last": swapped}
            stack.append({**unary, "repeat": x + x, "echo": x + x[-1:]}[word])
    (value,) = stack
    return " ".join(value)


ORACLES: dict[str, Callable[[str], str]] = {
    "copy_repeat": copied,
    "copy_repeat2x": lambda prompt: f"{copied(prompt)} {copied(prompt)}",
    "copy_replace": replaced,
    "copy_random": copied,
    "copy_random2x": lambda prompt: f"{copied(prompt)} [NEXT] {copied(prompt)}",
    "reverse": reversed_text,
    "reverse2x": lambda prompt: f"{reversed_text(prompt)} [NEXT] {reversed_text(prompt)}",
    "reverse_copy": lambda prompt: f"{reversed_text(prompt)} [NEXT] {reversed_text(prompt)[::-1]}",
    "addition": added,
    "poly": evaluated,
    "sort_single": sorted_single,
    "sort_multi": sorted_multi,
    "sum": summed,
    "parity": parity,
    "lego": lego,
    "scan": scan,
    "pcfg": pcfg,
}


# The draws of each task, one after the other from the stream of one sample, as compact input.


def spaced(number: int) -> str:
    return " ".join(str(number))


def draw_characters(stream: Stream, length: int) -> str:
    return " ".join(stream.pick(DIGITS + SMALL + CAPITALS) for _ in range(length))


def draw_replace(stream: Stream, length: int) -> str:
    old, new = stream.sample(DIGITS + SMALL + CAPITALS, 2)
    return f"{old} {new} {' '.join(old * length)}"


def draw_addition(stream: Stream, length: tuple[int, int]) -> str:
    numbers = [
        [stream.between(0 if digits == 1 else 1, 9), *(stream.below(10) for _ in range(digits - 1))]
        for digits in length
    ]
    return " + ".join(" ".join(map(str, number)) for number in numbers)


def draw_poly(stream: Stream, length: int) -> str:
    coefficients = [stream.between(-3, 3) for _ in range(length)]
    degrees = [stream.between(0, 3) for _ in range(length)]
    x = stream.between(-2, 2)
    terms = [f"{spaced(a)} x{degree}" for a, degree in zip(coefficients, degrees, strict=True)]
    return f"{spaced(x)} : {' + '.join(terms)}"


def draw_lego(stream: Stream, length: int) -> str:
    values = [(-1, 1)[stream.below(2)] for _ in range(length)]
    names = stream.shuffle(SMALL)[:length]
    query = names[stream.between(length // 2 if length % 2 == 0 else length // 2 + 1, length - 1)]
    clauses = [f"{names[0]} {'+' if values[0] == 1 else '-'} 1"]
    for place in range(1, length):
        sign = "+" if values[place] == values[place - 1] else "-"
        clauses.append(f"{names[place]} {sign} {names[place - 1]}")
    return f"{' , '.join(clauses)} ? {query}"


DRAWS: dict[str, Callable[[Stream, int], str] | Callable[[Stream, tuple[int, int]], str]] = {
    "copy_repeat": lambda stream, length: " ".join(stream.pick(DIGITS + SMALL + CAPITALS) * length),
    "copy_repeat2x": lambda stream, length: " ".join(stream.pick(DIGITS + SMALL + CAPITALS) * length),
    "copy_replace": draw_replace,
    **dict.fromkeys(("copy_random", "copy_random2x", "reverse", "reverse2x", "reverse_copy"), draw_characters),
    "addition": draw_addition,
    "poly": draw_poly,
    "sort_single": lambda stream, length: " ".join(
        (DIGITS + SMALL + CAPITALS)[stream.below(50)] for _ in range(length)
    ),
    "sort_multi": lambda stream, length: " , ".join(spaced(stream.between(10, 9999)) for _ in range(length)),
    "sum": lambda stream, length: " ".join(str(stream.between(1, 9)) for _ in range(length)),
    "parity": lambda stream, length: " ".join(str(stream.below(2)) for _ in range(length)),
    "lego": draw_lego,
}


def draw_pcfg(seed: int, split: str, functions: int, index: int) -> str:
    """An expression whose value is not too long: the first of its attempts."""
    for attempt in range(10_000):
        words = generate(Stream(seed, "pcfg", split, functions, index, attempt), functions)
        if len(pcfg(f"Solve: {words}[SEP] ").split()) <= 64:
            return words
    raise AssertionError("no attempt has a short value")


def generate(stream: Stream, functions: int) -> str:
    if functions == 0:
        codes = [stream.below(520) for _ in range(stream.between(1, 5))]
        return " ".join(f"{CAPITALS[code // 20]}{code % 20 + 1}" for code in codes)
    if stream.weighted([("U", 6), ("B", 4)]) == "U":
        name = stream.pick(["copy", "reverse", "shift", "swap_first_last", "repeat", "echo"])
        return f"{name} {generate(stream, functions - 1)}"
    name, first = stream.pick(["append", "prepend", "remove_first", "remove_second"]), stream.between(0, functions - 1)
    left = generate(stream, first)
    return f"{name} {left} , {generate(stream, functions - 1 - first)}"
