"""What the documents say is so."""

import importlib.util
import re
from pathlib import Path

from families import FAMILIES, families_table

from wherewhat.encodings.registry import ENCODINGS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
TABLE = (ROOT / "docs" / "families.md").read_text()


def maker(name: str):
    """One of the scripts that make the documentation."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_page_of_encodings_is_what_the_registry_and_the_figures_say():
    encodings_page = maker("encodings_page")
    page = encodings_page.PAGE.read_text()
    assert encodings_page.page(page) == page, "run `make docs`"
    for name in ENCODINGS:
        assert f"\n| [{name}](#{name}) |" in page and f"\n### {name}\n" in page
        assert name in README


def test_the_readme_is_short_and_the_table_of_families_is_the_tests_list():
    make = maker("make")
    assert make.with_table(TABLE, families_table()) == TABLE, "run `make docs`"
    assert README.count("\n") < 150
    assert not re.findall(r"\b[A-Z]{3,}_[A-Z]+\b", README), "something is still to be filled in"
    assert all(f"| {family.name} |" in TABLE for family in FAMILIES)


def test_the_study_in_the_guide_is_the_example_that_runs():
    code = (ROOT / "examples" / "04_new_study.py").read_text()
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"```python\n{code}```" in guide and code.count("\n") < 150


def test_the_code_on_attribution_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "attribution.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    for block in code:
        exec(compile(block, "attribution.md", "exec"), names)
    assert len(code) == 4 and "rotation, layer 0" in capsys.readouterr().out
    assert abs(names["ledger"].rest) <= names["ledger"].tolerance
    assert "abpc" in set(names["evaluation"].scores["measure"])
    assert (tmp_path / "runs" / "attribute-tiny" / "relevance.parquet").is_file()


def test_links_lead_somewhere():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name} points to {target}"


def test_commands_named_in_the_readme_exist(capsys):
    from wherewhat.cli.main import main

    for command in set(re.findall(r"^(?:.*&& )?wherewhat (\w+)", README, re.MULTILINE)):
        assert main([command, "--help"]) == 0, command
