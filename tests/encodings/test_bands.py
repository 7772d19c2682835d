"""Naming some rotary frequencies, and what is said to a name that names none."""

import math

import pytest
import torch

from wherewhat.encodings.bands import chosen
from wherewhat.encodings.rotary import frequencies
from wherewhat.errors import UserError

THETA_F = frequencies(width=16, base=10_000, dtype=torch.float64)  # 1, 0.316, 0.1, 0.0316, 0.01, ..., 0.000316

CHOICES: list[tuple[str, list[int]]] = [
    ("high:0.25", [0, 1]),
    ("high:0.3", [0, 1]),
    ("high:0", []),
    ("high:1", [0, 1, 2, 3, 4, 5, 6, 7]),
    ("low:0.25", [6, 7]),
    ("low:0.0", []),
    ("index:5", [5]),
    ("index:0,3,5-7", [0, 3, 5, 6, 7]),
    ("index: 3 , 0", [0, 3]),
    ("angle:0.01..1", [1, 2, 3, 4]),
    ("angle:1e-2..1e+0", [1, 2, 3, 4]),
    ("angle:0.01..1.5", [0, 1, 2, 3, 4]),
    ("angle:0..0.001", [7]),
    ("wavelength:8..64", [1, 2]),
    ("wavelength:6..7", [0]),
    ("wavelength:1000..inf", [5, 6, 7]),
    ("high:0.125+low:0.125", [0, 7]),
    ("high:0.25 + index:1,4", [0, 1, 4]),
    ("high:0+index:2", [2]),
]


@pytest.mark.parametrize(("text", "numbers"), CHOICES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_choices(text: str, numbers: list[int], dtype: torch.dtype) -> None:
    chosen_F = chosen(text, THETA_F.to(dtype))
    assert chosen_F.dtype == torch.bool and chosen_F.shape == (8,)
    assert chosen_F.nonzero().flatten().tolist() == numbers


def test_a_wavelength_is_a_whole_turn() -> None:
    theta_F = 2 * math.pi / torch.tensor([4.0, 8.0, 16.0], dtype=torch.float64)
    assert chosen("wavelength:8..16", theta_F).tolist() == [False, True, False]


def test_fast_and_slow_go_by_speed_and_not_by_number() -> None:
    theta_F = torch.tensor([0.1, 0.0, 1.0, 0.01])  # as in a model of which one pair does not turn
    assert chosen("high:0.25", theta_F).tolist() == [False, False, True, False]
    assert chosen("low:0.5", theta_F).tolist() == [False, True, False, True]
    assert chosen("wavelength:500..1000", theta_F).tolist() == [False, False, False, True]


def test_of_equal_frequencies_the_first_count_as_the_fastest() -> None:
    assert chosen("high:0.5", torch.ones(4)).tolist() == [True, True, False, False]
    assert chosen("low:0.5", torch.ones(4)).tolist() == [False, False, True, True]


REFUSALS: list[tuple[str, str]] = [
    (
        "hihg:0.25",
        "unknown kind of frequencies 'hihg'; did you mean 'high'? known: angle, high, index, low, wavelength",
    ),
    ("high", "frequencies are named by a kind and a value, such as high:0.25 or index:0,3; got 'high'"),
    ("", "frequencies are named by a kind and a value, such as high:0.25 or index:0,3; got ''"),
    ("high:0.25+", "frequencies are named by a kind and a value, such as high:0.25 or index:0,3; got ''"),
    ("high:fast", "'fast' in 'high:fast' is not a number"),
    ("high:1.5", "a share of the frequencies lies between 0 and 1; got 'high:1.5'"),
    ("low:nan", "a share of the frequencies lies between 0 and 1; got 'low:nan'"),
    ("high:0.1", "'high:0.1' of 8 frequencies is less than one; use at least 0.125, or 0 for none"),
    ("index:8", "there is no frequency 8 among the 8 from 0; got 'index:8'"),
    ("index:6-9", "there is no frequency 9 among the 8 from 0; got 'index:6-9'"),
    ("index:7-5", "a range goes upwards, such as index:5-7; got 'index:7-5'"),
    ("index:-1", "pairs are named by whole numbers from 0, such as index:0,3,5-7; got 'index:-1'"),
    ("index:", "pairs are named by whole numbers from 0, such as index:0,3,5-7; got 'index:'"),
    ("angle:1", "a band has two ends, such as angle:0.01..1 or wavelength:8..64; got 'angle:1'"),
    ("angle:..1", "'' in 'angle:..1' is not a number"),
    ("angle:1..0.1", "a band goes upwards and does not begin below 0; got 'angle:1..0.1'"),
    ("angle:-1..1", "a band goes upwards and does not begin below 0; got 'angle:-1..1'"),
    ("angle:0..nan", "a band goes upwards and does not begin below 0; got 'angle:0..nan'"),
    ("angle:2..3", "no frequency lies in 'angle:2..3'; they go from 0.0003162 to 1 radians per token"),
    ("wavelength:2..6", "no frequency lies in 'wavelength:2..6'; they go from 6.283 to 1.987e+04 tokens per rotation"),
    ("high:0.5+angle:2..3", "no frequency lies in 'angle:2..3'; they go from 0.0003162 to 1 radians per token"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSALS)
def test_refusals(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        chosen(text, THETA_F)
    assert str(refusal.value) == sentence


def test_a_model_without_frequencies_has_none_to_choose() -> None:
    with pytest.raises(UserError) as refusal:
        chosen("high:1", torch.empty(0))
    assert str(refusal.value) == "there are no rotary frequencies to choose from; got 'high:1'"


@pytest.mark.parametrize(("share", "of", "count"), [(0.29, 100, 29), (0.7, 90, 63), (0.58, 50, 29), (0.3, 8, 2)])
def test_a_share_loses_no_pair_to_rounding(share: float, of: int, count: int) -> None:
    theta_F = torch.linspace(1, 0.1, of, dtype=torch.float64)
    assert int(chosen(f"high:{share}", theta_F).sum()) == count


@pytest.mark.parametrize("of", [3, 12, 48])
def test_the_least_share_that_is_advised_names_one(of: int) -> None:
    theta_F = torch.linspace(1, 0.1, of, dtype=torch.float64)
    with pytest.raises(UserError) as raised:
        chosen("high:0.001", theta_F)
    advised = str(raised.value).partition("at least ")[2].partition(",")[0]
    assert int(chosen(f"high:{advised}", theta_F).sum()) == 1
