"""Which models a list names: their names, what identifies them, and what is refused before any is loaded."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from wherewhat.comparing import checkpoints
from wherewhat.comparing.checkpoints import checkpoints_of, folder_hash
from wherewhat.errors import UserError


def model(folder: Path, content: str = "{}") -> str:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(content)
    return str(folder)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A training run with three snapshots."""
    for step in (1000, 0, 20):
        model(tmp_path / "run" / "snapshots" / f"step-{step:06d}", f'{{"step": {step}}}')
    return tmp_path / "run"


def test_names_tell_models_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    models = [model(tmp_path / name) for name in ("one/gpt", "two/gpt", "three/bert")]
    several = checkpoints_of([*models, "tiny"])
    assert [each.name for each in several] == ["one-gpt", "two-gpt", "bert", "tiny"]
    assert [each.model for each in several] == [*models, "tiny"]
    monkeypatch.chdir(tmp_path)
    assert [each.model for each in checkpoints_of(["one/gpt", "two/gpt"])] == models[:2], "also from another folder"


def test_snapshots_of_a_run_come_in_the_order_of_training(run: Path):
    all_of_them = checkpoints_of([str(run)], ["all"])
    assert [each.label for each in all_of_them] == ["step-000000", "step-000020", "step-001000"]
    assert all_of_them[1].name == "run-step-000020" and all_of_them[1].revision is None
    assert all_of_them[1].model == str(run / "snapshots" / "step-000020")
    some = checkpoints_of([str(run)], ["step-001000", "step-000020"])
    assert [each.label for each in some] == ["step-001000", "step-000020"]


def test_a_changed_file_is_noticed(tmp_path: Path):
    folder = Path(model(tmp_path / "model"))
    weights = bytearray(40 << 20)  # of which only blocks are read
    (folder / "model.safetensors").write_bytes(weights)
    before = folder_hash(folder)
    assert before == folder_hash(folder) and len(before) == 64
    (folder / "README.md").write_text("other words")
    assert folder_hash(folder) == before, "which no profile depends on"
    (folder / "model.safetensors").write_bytes(bytes(len(weights) // 2) + bytes([1] * (len(weights) // 2)))
    after = folder_hash(folder)
    (folder / "config.json").write_text("{ }")
    assert len({before, after, folder_hash(folder)}) == 3
    assert folder_hash(tmp_path / "nowhere") == ""
    assert checkpoints_of([str(folder), "tiny"])[0].weights == len(weights)


def test_a_model_is_in_the_list_once(tmp_path: Path):
    one = model(tmp_path / "one")
    (tmp_path / "link").symlink_to(one)
    for twice in ([one, one], [one, f"{one}/"], [one, str(tmp_path / "link")], ["tiny", "tiny"]):
        with pytest.raises(UserError, match=" is named twice; name each model once"):
            checkpoints_of(twice)


BAD = [
    (["{run}"], ["step-000030", "step-000020", "x"], "has no revisions step-000030, x; known: step-000000, step"),
    (["{run}"], ["step-000030"], "has no revision step-000030; known: step-000000, step-000020, step-001000"),
    (["{run}"], ["step-000020"], "names step-000020 alone; name at least two, or profile that one by its folder, /"),
    (["{run}"], ["step-000020", "step-000020"], "step-000020 is named twice"),
    (["{run}", "tiny"], ["all"], "--revisions are states of one model, and 2 were named"),
    (["tiny"], ["all"], "tiny comes with the package and has no revisions"),
    (["{bare}"], ["all"], "bare has no snapshots, which are its revisions; train with --set keep_every=N"),
    (["no/such/folder"], ["all"], "there is no folder no/such/folder"),
]


@pytest.mark.parametrize(("models", "revisions", "sentence"), BAD, ids=[sentence for _, _, sentence in BAD])
def test_what_is_not_there_is_refused(
    models: list[str], revisions: list[str], sentence: str, run: Path, tmp_path: Path
):
    model(tmp_path / "bare")
    with pytest.raises(UserError, match=sentence):
        checkpoints_of([each.format(run=run, bare=tmp_path / "bare") for each in models], revisions)


def test_one_revision_or_several_but_not_both(run: Path):
    with pytest.raises(UserError, match="both --revision and --revisions were given"):
        checkpoints_of([str(run)], ["all"], revision="main")


# On the Hub -----------------------------------------------------------------------------------------------------------

REFS = {"main": "c" * 40, "step1000": "a" * 40, "step0": "0" * 40, "step256": "b" * 40}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Hub that answers, without a network."""

    def list_repo_refs(api: object, name: str) -> SimpleNamespace:
        if name != "org/model":
            raise OSError("no such model")
        return SimpleNamespace(
            branches=[SimpleNamespace(name=ref, target_commit=commit) for ref, commit in REFS.items()], tags=[]
        )

    monkeypatch.setattr(checkpoints, "forbidden", lambda: False)
    monkeypatch.setattr(checkpoints, "unreachable", lambda: False)
    monkeypatch.setattr(checkpoints.HfApi, "list_repo_refs", list_repo_refs)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The Hub's cache on this machine, with two revisions."""
    folder = tmp_path / "cache" / "models--org--model"
    (folder / "refs").mkdir(parents=True)
    for name in ("step0", "step256"):
        (folder / "refs" / name).write_text(REFS[name])
        model(folder / "snapshots" / REFS[name])
        (folder / "snapshots" / REFS[name] / "model.safetensors").write_bytes(bytes(30))
    monkeypatch.setattr(checkpoints.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return folder


def test_revisions_on_the_hub_have_their_commits(hub: None):
    steps = checkpoints_of(["org/model"], ["all"])
    assert [each.label for each in steps] == ["step0", "step256", "step1000"], "by number, and only what names a step"
    assert steps[1].name == "model-step256" and steps[1].model == "org/model" and steps[1].revision == "step256"
    assert [each.identity for each in steps] == [REFS[each.label] for each in steps]
    chosen = checkpoints_of(["org/model"], ["main", "d" * 40])
    assert [each.identity for each in chosen] == [REFS["main"], "d" * 40], "a commit needs no name"
    both = checkpoints_of(["org/model", "org/other"])
    assert [each.identity for each in both] == [REFS["main"], ""], "of what is not there, loading says why"
    with pytest.raises(UserError, match="org/model has no revisions step3, step9; known: main, step1000, "):
        checkpoints_of(["org/model"], ["step3", "step256", "step9"])
    with pytest.raises(UserError, match="the Hub lists no revisions of 'org/other'; check the name"):
        checkpoints_of(["org/other"], ["all"])


def test_offline_only_what_is_in_the_cache_is_there(cache: Path, hub: None):
    steps = checkpoints_of(["org/model"], ["all"], offline=True)
    assert [(each.label, each.identity) for each in steps] == [(name, REFS[name]) for name in ("step0", "step256")]
    assert [each.weights for each in steps] == [30, 30]
    with pytest.raises(UserError, match="org/model has no revision step1000"):
        checkpoints_of(["org/model"], ["step0", "step1000"], offline=True)
    with pytest.raises(UserError, match=r"there is no model 'org/other' on this machine.*--offline"):
        checkpoints_of(["org/other"], ["all"], offline=True)
