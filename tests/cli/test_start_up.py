"""What a command does not import: packages that take longer to load than a small net takes to be profiled."""

import subprocess
import sys
from pathlib import Path


def test_heads_of_one_of_our_nets_need_neither_transformers_nor_a_compiler(tmp_path: Path):
    code = (
        "import sys\n"
        "from wherewhat.cli.main import main\n"
        f"assert main(['heads', '--max-texts', '3', '--quiet', '--out', {str(tmp_path / 'run')!r}]) == 0\n"
        "heavy = {'transformers', 'torch._dynamo', 'torch._inductor', 'sympy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
