"""Loading: one of our own nets needs nothing of transformers, whose import takes longer than profiling a small net."""

import subprocess
import sys


def test_one_of_our_nets_is_loaded_without_transformers():
    code = (
        "import sys\n"
        "from wherewhat.capture.loading.load import LoadSettings, check_supported, load_by_name\n"
        "check_supported(load_by_name('tiny', LoadSettings()).module)\n"
        "assert 'transformers' not in sys.modules\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
