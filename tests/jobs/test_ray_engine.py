"""The engine `ray` keeps the promises of `local`, on this machine and on a cluster whose nodes die."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from job_works import job, local, note_start, starts

from wherewhat.cli.main import main
from wherewhat.errors import UserError
from wherewhat.jobs import locks, ray_engine
from wherewhat.jobs.engines import Engine, JobEvent
from wherewhat.jobs.folder import JobFolder
from wherewhat.jobs.job import Job, JobContext, JobError
from wherewhat.jobs.local import processors
from wherewhat.jobs.locks import only_machine
from wherewhat.jobs.ray_engine import TaskPool, perform_on_node
from wherewhat.jobs.registry import engine
from wherewhat.jobs.run import run_jobs
from wherewhat.tables.files import write_whole

HERE = Path(__file__).parent
MARK = "WHEREWHAT_RAY"  # in the environment of a parent and of all processes that come from it
AGENTS = {"ray::DashboardAgent", "ray::RuntimeEnvAgent"}  # which are idle, and end a minute after a killed parent
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install 'wherewhat[ray]'")


def train_briefly(settings: dict[str, Any], context: JobContext) -> dict[str, Any]:
    """Work: train a small net, with a checkpoint every few steps."""
    from wherewhat.recipes.tiny import tiny
    from wherewhat.training.loop import train

    note_start(context)
    brief = replace(tiny(), batch=8, evaluate_every=10, evaluate_samples=16, checkpoint_every=4, **settings)
    train(brief, out=context.folder / "run", resume=True, on_step=partial(context.step, keep=True))
    return {"steps": brief.steps}


def climb(settings: dict[str, Any], context: JobContext) -> list[int]:
    """Work: so many steps, with a checkpoint after each."""
    note_start(context)
    path = context.folder / "checkpoint.json"
    chain = json.loads(path.read_bytes()) if path.exists() else []
    while len(chain) < settings["steps"]:
        time.sleep(settings["pause"])
        chain.append(len(chain) + 1)
        write_whole(path, json.dumps(chain).encode())
        context.step(len(chain), {"height": float(len(chain))}, keep=True)
    return list(chain)


def climber(name: str, steps: int = 10, pause: float = 0.1) -> Job:
    return Job(name, f"{__name__}:climb", {"steps": steps, "pause": pause}, steps=steps)


def trainings() -> list[Job]:
    return [Job(f"seed {seed}", f"{__name__}:train_briefly", {"steps": 20, "seed": seed}, steps=20) for seed in (0, 1)]


def contents(folder: Path) -> dict[str, bytes]:
    """All files of all jobs, without times and process numbers."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name in [name for name in files if name.endswith(("progress.jsonl", "starts.txt"))]:
        del files[name]
    for name in [name for name in files if Path(name).name == "result.json"]:
        files[name] = json.dumps(json.loads(files[name])["result"]).encode()
    return files


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What trainings write in processes of `local`, with more threads than Ray gives to a task."""
    folder = tmp_path_factory.mktemp("local")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "2")
        run_jobs(trainings(), folder, engine=local())
    return contents(folder)


@pytest.fixture(scope="module")
def short() -> Iterator[str]:
    """A folder with a short path, as sockets need."""
    folder = tempfile.mkdtemp(prefix="t", dir="/tmp")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def cluster(short: str) -> Iterator[Any]:
    """A cluster of one node with two processors, for all tests of this file."""
    ray_engine._import_ray(local=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", short)
        from ray.cluster_utils import Cluster

        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        yield made
        made.shutdown()


@pytest.fixture
def joined(cluster: Any) -> Engine:
    """The engine on that cluster."""
    return engine("ray", address=cluster.address, shared=True)


@needs_ray
def test_results_are_those_of_local_byte_for_byte(
    undisturbed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")  # so that Ray sets it, to another number
    handler, events = signal.getsignal(signal.SIGTERM), list[JobEvent]()

    def on_event(event: JobEvent) -> None:
        import ray

        events.append(event)
        assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]  # nobody else can reach it

    runner = engine("ray", 2)
    assert runner.run(trainings(), tmp_path, on_event) == []
    assert runner.workers == 2 and engine("ray").workers == processors()
    assert any(path.endswith("model.safetensors") for path in undisturbed)
    assert contents(tmp_path) == undisturbed
    assert signal.getsignal(signal.SIGTERM) is handler
    assert [event.kind for event in events if event.kind != "step"] == ["begun", "begun", "done", "done"]
    assert {"loss"} < {name for event in events for name in event.measured}
    assert len({path.read_text() for path in tmp_path.rglob("starts.txt")}) == 2  # a process each


@needs_ray
def test_a_killed_worker_is_replaced_and_its_job_goes_on(
    joined: Engine, undisturbed: dict[str, bytes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kinds, killed = list[str](), list[int]()

    def on_event(event: JobEvent) -> None:
        kinds.append(event.kind)
        if event.job.name == "seed 0" and 8 <= event.steps < 20 and not killed:
            killed.append(int((tmp_path / "seed-0" / "starts.txt").read_text()))
            os.kill(killed[0], signal.SIGKILL)

    jobs = trainings()
    assert joined.run(jobs, tmp_path, on_event) == []
    assert contents(tmp_path) == undisturbed
    assert [outcome.attempts for outcome in run_jobs(jobs, tmp_path, engine=local())] == [2, 1]
    assert kinds.count("died") == 1 and kinds.count("begun") == 3 and kinds.count("done") == 2
    lines = [json.loads(line) for line in (tmp_path / "seed-0" / "progress.jsonl").read_text().splitlines()]
    assert min(line["step"] for line in lines if line["attempt"] == 2 and line["step"]) > 4  # not from the beginning
    assert capfd.readouterr().out == ""  # Ray would tell of it on stdout, where a command may print JSON


@needs_ray
def test_a_job_that_always_dies_is_told_after_the_rest_is_done(joined: Engine, tmp_path: Path) -> None:
    jobs = [job("fatal", "vanish", lives=9), *(job(f"n {x}", x=x) for x in range(3))]
    (failure,) = joined.run(jobs, tmp_path, lambda event: None, fail_fast=False)
    assert failure.sentence == (
        "the process of 'fatal' ended too early 3 times, the last time by WorkerCrashedError; check whether memory "
        "ran out"
    )
    assert starts(tmp_path / "fatal") == 3 and JobFolder(tmp_path).count == 3
    assert json.loads((tmp_path / "fatal" / "error.json").read_text()) == failure.plain()


@needs_ray
def test_with_fail_fast_nothing_begins_after_a_failure(joined: Engine, tmp_path: Path) -> None:
    jobs = [job("a", "refuse"), climber("b", steps=3), *(climber(f"n {x}") for x in range(4))]
    with pytest.raises(UserError, match=r"^--width is 3; give an even number$"):
        run_jobs(jobs, tmp_path, engine=joined)
    assert (tmp_path / "b" / "result.json").exists()  # what ran beside it was let finish
    assert not (tmp_path / "n-3").exists()


@needs_ray
def test_results_and_errors_come_back_as_from_any_engine(joined: Engine, tmp_path: Path) -> None:
    folder, mended = tmp_path / "jobs", tmp_path / "mended"
    jobs = [*(job(f"n {x}", x=x) for x in (3, 1)), job("odd", "strange"), job("b", "stumble", until=str(mended))]
    with pytest.raises(JobError, match=r"(?s)^job 'b' failed: ValueError: job stumbled\n.*Traceback.*in stumble\n"):
        run_jobs(jobs, folder, engine=joined)
    mended.touch()
    outcomes = run_jobs(jobs, folder, engine=joined)
    assert [outcome.result for outcome in outcomes[:2]] == [{"square": x * x, "pair": [x, None]} for x in (3, 1)]
    assert outcomes[2].result["surrogate"] == "\ud800" and outcomes[3].result == "well"
    assert [outcome.attempts for outcome in outcomes] == [1, 1, 1, 2]
    assert starts(folder / "n-3") == 1 and not list(folder.glob(".*"))
    assert sum(len(path.read_text().split()) for path in folder.rglob("starts.txt")) == 4  # attempts


@needs_ray
def test_an_error_of_who_listens_ends_the_jobs(joined: Engine, tmp_path: Path) -> None:
    def stumble(event: JobEvent) -> None:
        if event.kind == "step" and event.steps:
            raise BrokenPipeError("nobody listens")

    with pytest.raises(BrokenPipeError, match="nobody listens"):
        joined.run([climber("a", steps=100)], tmp_path, stumble)
    assert 1 <= len(json.loads((tmp_path / "a" / "checkpoint.json").read_text())) < 50
    assert not (tmp_path / "a" / "error.json").exists() and not (tmp_path / ".stop").exists()
    assert run_jobs([climber("b", steps=1)], tmp_path, engine=joined)[0].attempts == 1  # it can be joined again


@needs_ray
def test_a_job_goes_on_where_another_node_is_left(cluster: Any, joined: Engine, tmp_path: Path) -> None:
    node, kinds = cluster.add_node(num_cpus=1), list[str]()
    heights = dict[str, list[float]]()

    def on_event(event: JobEvent) -> None:
        kinds.append(event.kind)
        heights.setdefault(event.job.name, []).extend(event.measured.values())
        if len(heights) == 3 and all(heights.values()) and node in cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)

    jobs = [climber(f"n {x}", steps=20) for x in range(3)]
    assert joined.run(jobs, tmp_path, on_event) == []
    outcomes = run_jobs(jobs, tmp_path, engine=local())
    assert [outcome.result for outcome in outcomes] == [list(range(1, 21))] * 3
    assert sorted(outcome.attempts for outcome in outcomes) == [1, 1, 2] and kinds.count("died") == 1
    assert all(values == sorted(set(values)) for values in heights.values())  # no step was repeated
    assert not list(tmp_path.glob(".*"))


def climbers() -> list[Job]:
    return [climber(f"n {x}", steps=40, pause=0.05) for x in range(3)]


def parent(folder: str) -> None:
    """A parent, for tests that kill or interrupt it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background process does not have
    run_jobs(climbers(), Path(folder), engine=engine("ray", 2))


def marked(mark: str) -> list[str]:
    """What runs of a parent: itself, Ray, and its tasks."""
    commands = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                commands.append((path / "cmdline").read_bytes().split(b"\0")[0].decode().strip())
        except OSError:
            continue
    return commands


def wait_for(what: Callable[[], bool], *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


@needs_ray
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_its_parent(number: signal.Signals, short: str, tmp_path: Path) -> None:
    temporary = Path(short) / number.name
    temporary.mkdir()
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    script = f"import sys, {__name__}; {__name__}.parent(*sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "jobs")],
        env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(temporary), MARK: number.name},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(list((tmp_path / "jobs").glob("*/checkpoint.json"))) == 2, seconds=30)
    assert len(marked(number.name)) > 3
    os.killpg(process.pid, number) if number == signal.SIGINT else process.kill()  # as a terminal does
    _, errors = process.communicate(timeout=30)
    agents = set() if number == signal.SIGINT else AGENTS
    wait_for(lambda: not set(marked(number.name)) - agents, seconds=0.5 if number == signal.SIGINT else 10)
    if number == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt") and errors.count("Traceback") == 1
        assert not list(temporary.iterdir()) and not list((tmp_path / "jobs").glob(".*"))
        assert JobFolder(tmp_path / "jobs").begun == 2  # after a kill they go on until they miss their parent
    assert not (tmp_path / "jobs" / "n-2").exists()
    finished = [(tmp_path / "jobs" / f"n-{x}" / "result.json").exists() for x in range(2)]
    outcomes = run_jobs(climbers(), tmp_path / "jobs", engine=local())
    assert [outcome.attempts for outcome in outcomes] == [*(1 if done else 2 for done in finished), 1]
    assert [outcome.result for outcome in outcomes] == [list(range(1, 41))] * 3


def test_only_what_still_runs_is_cancelled(tmp_path: Path) -> None:
    """Ray ends the whole process if a task is cancelled in the moment between its answer and its end."""
    cancelled = list[str]()

    class FakeRay:
        def wait(self, answers: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
            return answers[:1], answers[1:]

        def cancel(self, answer: str, *, force: bool) -> None:
            cancelled.append(answer)

    session: Any = SimpleNamespace(ray=FakeRay(), size=lambda: 3, submit=lambda job, folder: f"answer of {job.name}")
    tasks = TaskPool(session, [job(name) for name in "abc"], tmp_path, lambda event: None, fail_fast=False)
    tasks._submit()
    tasks.stop(1.0)
    assert cancelled == ["answer of b", "answer of c"]


def test_without_ray_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    sentence = r"^engine 'ray' needs Ray, which is not installed; run `pip install 'wherewhat\[ray\]'`$"
    with pytest.raises(UserError, match=sentence):
        engine("ray")
    with pytest.raises(UserError, match=sentence):
        ray_engine._import_ray(local=False)  # if it is there, but cannot be imported


@pytest.fixture
def port() -> Iterator[tuple[int, socket.socket]]:
    """A port of this machine that nobody listens to yet."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        yield server.getsockname()[1], server


def test_a_closed_port_is_refused_at_once(port: tuple[int, socket.socket]) -> None:
    began = time.monotonic()
    sentence = rf"^no Ray cluster answers at 127.0.0.1:{port[0]} \(.*Connection refused\); check the address$"
    with pytest.raises(UserError, match=sentence):
        engine("ray", address=f"127.0.0.1:{port[0]}", shared=True)
    assert time.monotonic() - began < 5


@needs_ray
def test_a_port_behind_which_is_no_ray_is_refused_in_time(port: tuple[int, socket.socket], tmp_path: Path) -> None:
    number, server = port
    server.listen()
    script = (
        "import sys, pathlib; from job_works import job; from wherewhat.jobs.registry import engine; "
        "from wherewhat.jobs import ray_engine; from wherewhat.jobs.run import run_jobs; ray_engine.JOIN_SECONDS = 2; "
        "run_jobs([job('a', x=1)], pathlib.Path(sys.argv[1]), engine=engine('ray', address=sys.argv[2], shared=True))"
    )
    began = time.monotonic()
    process = subprocess.run(  # where an attempt that goes on in the background disturbs nobody
        [sys.executable, "-c", script, str(tmp_path), f"127.0.0.1:{number}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert time.monotonic() - began < 8 and ray_engine.JOIN_SECONDS + ray_engine.CONNECT_SECONDS < 20
    assert f"the Ray cluster at 127.0.0.1:{number} could not be joined (no answer in 2 s); run" in process.stderr


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"address": "somewhere", "shared": True},
            "--address is 'somewhere'; give HOST:PORT of a Ray cluster, such",
        ),
        (
            {"address": "ray://a:1", "shared": True},
            "--address is 'ray://a:1'; give HOST:PORT of a Ray cluster, such",
        ),
        (
            {"address": "10.0.0.1:6379"},
            "with --address the folder must be on storage that all nodes see; if it is, add --shared",
        ),
        ({"workers": 0}, "--workers is 0; give at least 1"),
    ],
)
def test_what_cannot_be_done_is_told(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as told:
        engine("ray", **given)
    assert sentence in str(told.value)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["canonical", "--address", "a:1"], "engine 'local' runs on this machine only; leave --address out or choose"),
        (["canonical", "--engine", "ray", "--address", "a:1"], "with --address the folder must be on storage that all"),
        (["control", "--engine", "ray"], "control studies a given model in one go, in this process; leave --engine ou"),
        (["control", "--shared"], "control studies a given model in one go, in this process; leave --shared out"),
    ],
)
def test_a_command_refuses_what_does_not_go_together(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words, "--out", str(tmp_path / "run")]) == 2
    assert sentence in capsys.readouterr().err and not (tmp_path / "run").exists()


@needs_ray
def test_a_ray_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, short: str) -> None:
    import ray

    def fail(**_: Any) -> None:
        raise RuntimeError("no room\nand more")

    monkeypatch.setattr(ray, "init", fail)
    monkeypatch.setattr("tempfile.tempdir", short)
    before = set(Path(short).iterdir())
    with pytest.raises(UserError, match=r"^Ray could not be started here \(no room\); choose --engine local$"):
        run_jobs([job("a", x=1)], tmp_path, engine=engine("ray"))
    assert set(Path(short).iterdir()) == before


@needs_ray
def test_a_process_that_uses_ray_itself_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    with pytest.raises(UserError, match=r"^this process is already connected to Ray; call ray.shutdown\(\) first, or"):
        run_jobs([job("a", x=1)], tmp_path, engine=engine("ray"))


def test_a_node_refuses_what_would_come_out_otherwise_there(tmp_path: Path) -> None:
    node, versions = socket.gethostname(), ray_engine._versions()
    with pytest.raises(UserError, match=f"^node {node} has torch .+, not 0.1; install the same version on all nodes$"):
        perform_on_node(b"", [], str(tmp_path / "a"), {**versions, "torch": "0.1"})
    with pytest.raises(UserError, match=f"^node {node} does not see .+/nowhere; the folder must be on storage that"):
        perform_on_node(b"", [], str(tmp_path / "nowhere" / "a"), versions)


@needs_ray
def test_what_a_node_refuses_is_told_where_the_jobs_were_started(
    joined: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "_versions", lambda: {"wherewhat": "0.0.1", "torch": "0.1"})
    with pytest.raises(UserError, match=r"^node \S+ has wherewhat \S+, not 0.0.1; install the same version on all"):
        run_jobs([job("a", x=1)], tmp_path, engine=joined)
    assert "has wherewhat" in json.loads((tmp_path / "a" / "error.json").read_text())["sentence"]


@needs_ray
def test_a_result_that_only_another_machine_sees_is_told(
    joined: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "SEEN_SECONDS", 0.5)
    monkeypatch.setattr(ray_engine, "RESULT", "elsewhere/result.json")
    with pytest.raises(UserError, match=r"/a has no elsewhere/result.json here, but on another machine; the fold"):
        run_jobs([job("a", x=1)], tmp_path, engine=joined)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks between machines in a hundredth of the time."""
    for name in ("BEAT", "SILENCE", "MOST_PATIENCE"):
        monkeypatch.setattr(locks, name, getattr(locks, name) / 100)


def holder(folder: Path, machine: str) -> Path:
    """The file of a process on some machine that held a folder and died."""
    path = folder / ".a.holder"
    path.write_text(f"process 1 on {machine}")
    return path


def test_a_run_is_held_by_one_machine(tmp_path: Path) -> None:
    path = tmp_path / ".a.holder"
    with only_machine(tmp_path / "a"):
        assert path.read_text() == f"process {os.getpid()} on {socket.gethostname()}"
    assert not path.exists()


def test_what_a_dead_process_of_this_machine_held_is_free_at_once(tmp_path: Path) -> None:
    holder(tmp_path, socket.gethostname())
    began = time.monotonic()
    with only_machine(tmp_path / "a"):
        assert time.monotonic() - began < 1
    assert not list(tmp_path.iterdir())


def test_what_another_machine_held_is_free_once_it_is_silent(hurried: None, tmp_path: Path) -> None:
    holder(tmp_path, "elsewhere")
    began = time.monotonic()
    with only_machine(tmp_path / "a"):
        assert time.monotonic() - began > locks.SILENCE


def test_a_run_that_another_machine_works_on_is_left_to_it(hurried: None, tmp_path: Path) -> None:
    path, over = holder(tmp_path, "elsewhere"), threading.Event()

    def live() -> None:
        while not over.wait(0.02):
            os.utime(path)

    thread = threading.Thread(target=live)
    thread.start()
    with pytest.raises(UserError, match=r"/.a.holder says that process 1 on elsewhere works on this run; wait until"):
        only_machine(tmp_path / "a").__enter__()
    over.set()
    thread.join()
    assert path.read_text() == "process 1 on elsewhere"


def test_a_holder_gives_signs_of_life_and_is_waited_for(hurried: None, tmp_path: Path) -> None:
    entered = list[float]()

    def second() -> None:
        with only_machine(tmp_path / "a"):
            entered.append(time.monotonic())

    with only_machine(tmp_path / "a"):
        before = (tmp_path / ".a.holder").stat().st_mtime_ns
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(2 * locks.SILENCE)
        assert (tmp_path / ".a.holder").stat().st_mtime_ns > before and not entered
        left = time.monotonic()
    thread.join()
    assert entered[0] > left and not list(tmp_path.iterdir())
