"""Runs of a second, for tests that need one."""

from collections.abc import Iterator

import pytest
import torch

from wherewhat.corpora.grammar import Grammar
from wherewhat.nets.config import NetConfig
from wherewhat.tasks.copying import CopyRandom
from wherewhat.tasks.registry import task
from wherewhat.training.language_modelling import LanguageModelSettings
from wherewhat.training.task_training import TaskSettings


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Bits depend on how many threads share a sum."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def brief() -> TaskSettings:
    return TaskSettings(
        net=NetConfig(vocabulary=100, length=9, width=8, layers=1, heads=2, mlp=1),
        tasks=(
            task("number", window=4, pre=4, n_letters=6, hops=[1, 2]),
            task("letter", window=4, pre=4, n_letters=4, n_int=3, hops=[1, 2]),
        ),
        steps=11,
        batch=6,
        learning_rate=1e-2,
        warmup=3,
        evaluate_every=4,
        evaluate_samples=50,
        checkpoint_every=3,
    )


@pytest.fixture
def copier() -> TaskSettings:
    copy = CopyRandom(shortest=1, train_length=3, test_length=5, alphabet=4)
    return TaskSettings(
        net=NetConfig(vocabulary=copy.vocabulary, length=copy.length, width=8, layers=1, heads=2, mlp=1),
        tasks=(copy,),
        steps=11,
        batch=6,
        learning_rate=1e-2,
        warmup=3,
        evaluate_every=4,
        evaluate_samples=20,
        checkpoint_every=3,
        clip=1.0,
    )


@pytest.fixture
def reader() -> LanguageModelSettings:
    return LanguageModelSettings(
        net=NetConfig(vocabulary=1, length=12, width=8, layers=1, heads=2, mlp=1, kind="encoder", encoding="learned"),
        corpus=Grammar(past=True),
        sentences=60,
        longest=12,
        steps=11,
        batch=8,
        learning_rate=1e-2,
        warmup=3,
        evaluate_every=4,
        evaluate_samples=20,
        checkpoint_every=3,
    )
