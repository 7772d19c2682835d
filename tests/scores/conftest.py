"""Scores are tested on logits of every kind, which lie beside."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "logits"))
