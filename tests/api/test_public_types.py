"""The public API completes and type-checks: mypy accepts typical calls, and refuses wrong ones."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WRONG = {
    'ww.profile("tiny", querries=64)': 'Unexpected keyword argument "querries"',
    'ww.profile("tiny", max_texts="ten")': 'Argument "max_texts" to "profile" has incompatible type "str"',
    'ww.reproduce("locality", scales="tiny")': 'Unexpected keyword argument "scales"',
    'ww.measure_edit("tiny", None, ww.Edit(dropped=("all",)))': 'Unexpected keyword argument "dropped"',
    "ww.PROFILES": 'Module has no attribute "PROFILES"',
}


def check_types(*paths: Path) -> str:
    pytest.importorskip("mypy", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--strict"]
    run = subprocess.run([*command, *map(str, paths)], cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


def test_typical_calls_are_accepted_and_wrong_ones_refused(tmp_path: Path):
    wrong = tmp_path / "wrong_calls.py"
    wrong.write_text("import wherewhat as ww\n\n" + "\n".join(WRONG) + "\n")
    output = check_types(HERE / "typical_calls.py", wrong)
    assert "typical_calls.py" not in output, output
    for number, sentence in enumerate(WRONG.values(), 3):
        line = next((line for line in output.splitlines() if f"wrong_calls.py:{number}:" in line), "")
        assert sentence in line, output
