"""Every kind of measurement, in the order they are made."""

from wherewhat.profiling.measurements.attention import ATTENTION_ON_TEXTS
from wherewhat.profiling.measurements.base import Measurement
from wherewhat.profiling.measurements.hidden import HIDDEN_STATES
from wherewhat.profiling.measurements.positional import POSITIONAL_MATRICES
from wherewhat.profiling.measurements.repeated import REPEATED_RANDOM_TOKENS

_ALL = (ATTENTION_ON_TEXTS, HIDDEN_STATES, POSITIONAL_MATRICES, REPEATED_RANDOM_TOKENS)

MEASUREMENTS: dict[str, Measurement] = {measurement.name: measurement for measurement in _ALL}
