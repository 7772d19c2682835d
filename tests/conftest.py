"""What all tests share."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may ask the network
os.environ.setdefault("OMP_NUM_THREADS", "1")  # several tests run at once on few cores
CACHE = TemporaryDirectory(prefix="wherewhat-", ignore_cleanup_errors=True)  # nothing is kept from other runs
os.environ["WHEREWHAT_CACHE"] = CACHE.name

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture
def shared() -> Path:
    """Real trained models and texts that lie beside the project where it is developed."""
    if not SHARED.is_dir():
        pytest.skip("needs real trained models, which are not part of the project")
    return SHARED
