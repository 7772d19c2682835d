"""The simulated network: its correlations, what is hidden, and whether a table shows its modules."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch

from wherewhat.jobs.job import JobContext
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.studies.latin_square.measures import module_rows, tables_of
from wherewhat.studies.latin_square.names import (
    ADDED,
    ADDED_BOUND,
    ERROR,
    LARGE,
    LINE_SINUSOID,
    MODULES,
    NETWORK,
    SMALL,
)
from wherewhat.studies.latin_square.network import (
    ModularNetwork,
    NetworkTraining,
    hidden_loss,
    hide,
    learn_network,
    module_contrast,
    prediction,
    random_contrasts,
)
from wherewhat.studies.latin_square.run import run
from wherewhat.studies.latin_square.settings import SCALES, LatinCondition
from wherewhat.training.loop import threads

NETWORK_32 = ModularNetwork()
QUICK = NetworkTraining(network=ModularNetwork(settling=50), steps=3, batch=8, warmup=1, samples=16, tested=16)


def correlations(values_NTV: np.ndarray) -> np.ndarray:
    """correlation_TT of the values of nodes over all samples."""
    return np.asarray(np.corrcoef(values_NTV.transpose(1, 0, 2).reshape(values_NTV.shape[1], -1)))


def mean_correlations(network: ModularNetwork, samples: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """All correlations inside modules, and all across."""
    module_T = network.module_of(0)
    correlation_TT = correlations(network.windows(module_T, samples, np.random.default_rng(0)))
    same_TT, others_TT = module_T[:, None] == module_T, ~np.eye(network.nodes, dtype=bool)
    return correlation_TT[same_TT & others_TT], correlation_TT[~same_TT]


def test_nodes_correlate_inside_modules_and_hardly_across() -> None:
    inside, across = mean_correlations(NETWORK_32)
    assert inside.min() > 0.2 and inside.max() < 0.6
    assert np.abs(across).max() < 0.1


def test_stronger_weights_across_would_join_the_modules() -> None:
    _, across = mean_correlations(replace(NETWORK_32, across=0.05))
    assert across.mean() > 0.11  # so that 0.05/24 from every other module is too much


def test_the_simulation_by_a_loop() -> None:
    network = ModularNetwork(modules=2, size=2, values=3, settling=2)
    module_T = network.module_of(1)
    ours_NTV = network.windows(module_T, 2, np.random.default_rng(5))
    generator = np.random.default_rng(5)
    noise = [generator.standard_normal((2, 4)) for _ in range(5)]
    for sample in range(2):
        state, kept = [0.0] * 4, []
        for step in range(5):
            after = []
            for node in range(4):
                drive = 0.0
                for other in range(4):
                    if other != node:
                        weight = 0.9 / 2 if module_T[node] == module_T[other] else 0.02 / 2
                        drive += weight * state[other]
                after.append(math.tanh(1.2 * drive) + 0.3 * noise[step][sample, node])
            state = after
            kept.append(state)
        assert np.allclose(ours_NTV[sample].T, kept[2:], atol=1e-12)


def test_the_order_of_nodes_is_random_but_fixed() -> None:
    module_T = NETWORK_32.module_of(0)
    assert (module_T == NETWORK_32.module_of(0)).all() and (module_T != NETWORK_32.module_of(1)).any()
    assert np.bincount(module_T).tolist() == [8, 8, 8, 8] and module_T.tolist() != sorted(module_T)


def test_the_contrast_by_a_double_loop() -> None:
    table_TD, module_T = np.random.default_rng(0).standard_normal((32, 7)), NETWORK_32.module_of(0)
    inside, across = [], []
    for a, b in itertools.combinations(range(32), 2):
        cosine = table_TD[a] @ table_TD[b] / math.sqrt((table_TD[a] @ table_TD[a]) * (table_TD[b] @ table_TD[b]))
        (inside if module_T[a] == module_T[b] else across).append(cosine)
    expected = sum(inside) / len(inside) - sum(across) / len(across)
    assert module_contrast(table_TD, module_T) == pytest.approx(expected, abs=1e-12)
    drawn = random_contrasts(NETWORK_32, 64, tables=400, seed=0)
    assert abs(drawn.mean()) < 4 * drawn.std() / 20
    assert drawn.std() == pytest.approx(math.sqrt((1 / 112 + 1 / 384) / 64), rel=0.15)


def test_a_quarter_of_the_nodes_is_hidden_and_only_they_count() -> None:
    values_NTV = torch.randn(5, 32, 8, generator=torch.Generator().manual_seed(0))
    input_NTV, hidden_NT = hide(values_NTV, 0.25, torch.Generator().manual_seed(1))
    assert hidden_NT.sum(1).tolist() == [8] * 5
    assert (input_NTV[..., -1] == hidden_NT).all() and (input_NTV[hidden_NT][:, :-1] == 0).all()
    assert (input_NTV[~hidden_NT][:, :-1] == values_NTV[~hidden_NT]).all()
    net = build(SCALES["tiny"].network_net(LatinCondition(NETWORK, SMALL)))
    loss = hidden_loss(net, values_NTV, 0.25, torch.Generator().manual_seed(1))
    predicted_NTV = prediction(net, input_NTV).detach()
    squares = [
        float((predicted_NTV[n, t, v] - values_NTV[n, t, v]) ** 2)
        for n, t in itertools.product(range(5), range(32))
        for v in range(8)
        if hidden_NT[n, t]
    ]
    assert loss.item() == pytest.approx(sum(squares) / len(squares), rel=1e-5)


def test_a_net_learns_and_reports_its_steps() -> None:
    steps: list[int] = []
    with threads(1):
        both = [
            learn_network(QUICK, SCALES["tiny"].network_net(LatinCondition(NETWORK, arm)), 0, steps.append)
            for arm in (LARGE, LARGE)
        ]
    assert steps == [1, 2, 3, 1, 2, 3]
    assert both[0][1] == pytest.approx(both[1][1]) and math.isfinite(both[0][1])
    config = SCALES["tiny"].network_net(LatinCondition(NETWORK, LINE_SINUSOID))
    assert (config.vocabulary, config.length, config.layers) == (9, 32, 1)


def test_descent_moves_the_weights_and_lowers_the_error() -> None:
    network = ModularNetwork(modules=2, size=4, settling=50)
    few = NetworkTraining(network=network, steps=3, batch=32, warmup=1, samples=512, tested=256, learning_rate=1e-2)
    config = replace(SCALES["tiny"], width=8, network=few).network_net(LatinCondition(NETWORK, SMALL))
    start = build(config, seed=0)
    with threads(1):
        early, _ = learn_network(few, config, 0, lambda _: None)
        _, error = learn_network(replace(few, steps=300, warmup=20), config, 0, lambda _: None)
    moved = {name: float((after - start.state_dict()[name]).abs().max()) for name, after in early.state_dict().items()}
    assert min(moved[name] for name, _ in early.named_parameters()) > 1e-4, moved
    test_NTV = network.windows(network.module_of(0), 256, np.random.default_rng([0, 2]))
    untrained = error_on(start, test_NTV)
    assert untrained > 2 and error < 0.95  # of the variance; 0.84 where this was written


@torch.no_grad()
def test_a_change_can_show_the_modules_that_its_table_hides() -> None:
    config = SCALES["tiny"].network_net(LatinCondition(NETWORK, LARGE))
    start, net = (build(config, seed=0) for _ in range(2))
    module_T, table_TD = NETWORK_32.module_of(0), net.encoding(0).table_SD
    change_TD = torch.zeros_like(table_TD)
    change_TD[torch.arange(32), torch.from_numpy(module_T)] = 0.1
    table_TD += change_TD
    rows = {row[3]: row[4] for row in module_rows(start, net, module_T)}
    assert rows[ADDED] == pytest.approx(1.0, abs=1e-3) and abs(rows[MODULES]) < 0.05
    generator, change = np.random.default_rng(7), change_TD.double().numpy()
    theirs = np.quantile([module_contrast(generator.permutation(change), module_T) for _ in range(2000)], 0.975)
    assert rows[ADDED_BOUND] == pytest.approx(theirs, abs=0.02) and 0.02 < theirs < 0.2


def error_on(net: Trunk, windows_NTV: np.ndarray) -> float:
    """The squared error on the hidden nodes of windows as a share of their variance, node by node."""
    values_NTV = torch.from_numpy(windows_NTV).float()
    input_NTV, hidden_NT = hide(values_NTV, QUICK.hidden, torch.Generator().manual_seed(0))
    with torch.no_grad():
        predicted_NTV = prediction(net, input_NTV)
    places = [place for place in np.ndindex(values_NTV.shape) if hidden_NT[place[:2]]]
    squares = [float(predicted_NTV[place] - values_NTV[place]) ** 2 for place in places]
    return fmean(squares) / float(values_NTV.var())


def test_the_error_is_that_on_new_windows() -> None:
    network, module_T = QUICK.network, QUICK.network.module_of(0)
    with threads(1):
        net, error = learn_network(QUICK, SCALES["tiny"].network_net(LatinCondition(NETWORK, SMALL)), 0, lambda _: None)
        train_NTV, test_NTV = (network.windows(module_T, 16, np.random.default_rng([0, part])) for part in (1, 2))
        assert np.abs(train_NTV - test_NTV).min() > 0  # no sample of the test occurs in training
        assert error == pytest.approx(error_on(net, test_NTV), rel=1e-4)
        assert error != pytest.approx(error_on(net, train_NTV), rel=1e-3)


def test_the_rows_are_the_modules_of_the_trained_table(tmp_path: Path) -> None:
    condition, scale = LatinCondition(NETWORK, SMALL), replace(SCALES["tiny"], network=QUICK)
    rows = {row[5]: row[6] for row in run(condition, scale, 2, JobContext(tmp_path, lambda *_, **__: None))}
    with threads(1):
        net, error = learn_network(QUICK, scale.network_net(condition), 2, lambda _: None)
    table_TD, module_T = tables_of(net)[0], QUICK.network.module_of(2)
    assert rows[MODULES] == pytest.approx(module_contrast(table_TD, module_T), abs=1e-5)
    start_TD = tables_of(build(scale.network_net(condition), seed=2))[0]
    assert rows[ADDED] == pytest.approx(module_contrast(table_TD - start_TD, module_T), abs=1e-3)
    assert rows[ADDED_BOUND] > 0
    assert rows[ERROR] == pytest.approx(error, rel=1e-4)
