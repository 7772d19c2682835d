"""What is handed out: metadata, the source archive, and where the suite runs by itself."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HANDED_OUT = ("benchmarks", "docs", "examples", "src", "tests")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What lies in a source archive, made from a copy so that nothing is written beside the sources."""
    folder = tmp_path_factory.mktemp("sdist")
    for name in HANDED_OUT:
        shutil.copytree(ROOT / name, folder / "copy" / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder / "copy")
    for name in ("LICENSE", "Makefile"):
        shutil.copy(ROOT / name, folder / "copy")
    build = "from setuptools.build_meta import build_sdist; build_sdist('..')"
    subprocess.run([sys.executable, "-c", build], cwd=folder / "copy", check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as file:
        return {name.partition("/")[2] for name in file.getnames()}


def test_the_source_archive_holds_all_that_is_needed_to_test_and_build_it(archive: set[str]):
    kept = {path for folder in HANDED_OUT for path in (ROOT / folder).rglob("*") if path.is_file()}
    wanted = {str(path.relative_to(ROOT)) for path in kept if not {"__pycache__", "latest.json"} & set(path.parts)}
    wanted = {name for name in wanted if ".egg-info" not in name and not Path(name).name.startswith(".")}
    beside = {
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "constraints.txt",
        "pyproject.toml",
    }
    assert (wanted | beside) - archive == set()
    assert not [name for name in archive if name.endswith(".pyc") or "__pycache__" in name]


def test_metadata_says_who_and_where():
    assert PROJECT["authors"] == [{"name": "wherewhat developers"}]
    assert set(PROJECT["urls"]) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(url.startswith("https://github.com/wherewhat/wherewhat") for url in PROJECT["urls"].values())


def test_built_in_texts_and_models_are_package_data():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["wherewhat"]
    package = ROOT / "src" / "wherewhat"
    found = {path for pattern in data for path in package.glob(pattern)}
    assert {package / "tables" / "books" / name for name in ("letters.txt", "harbour.txt")} <= found
    assert package / "models" / "tiny" / "config.json" in found


def test_the_suite_runs_on_every_system_and_python_that_the_metadata_names():
    path = ROOT / ".github" / "workflows" / "test.yml"
    if not path.exists():
        pytest.skip("a source archive holds no workflow")
    job = yaml.safe_load(path.read_text())["jobs"]["test"]
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert job["strategy"]["matrix"]["python"] == named
    assert [system.partition("-")[0] for system in job["strategy"]["matrix"]["system"]] == ["ubuntu", "ubuntu", "macos"]
    commands = "\n".join(step.get("run", "") for step in job["steps"])
    assert "make check" in commands and "make test" in commands
