"""Every study by name."""

from wherewhat.studies.attribution.run import STUDY as ATTRIBUTION
from wherewhat.studies.canonical.run import STUDY as CANONICAL
from wherewhat.studies.control.run import STUDY as CONTROL
from wherewhat.studies.counting.run import STUDY as COUNTING
from wherewhat.studies.dynamics.run import STUDY as DYNAMICS
from wherewhat.studies.engine.study import AnyStudy
from wherewhat.studies.latin_square.run import STUDY as LATIN_SQUARE
from wherewhat.studies.length.run import STUDY as LENGTH
from wherewhat.studies.locality.run import STUDY as LOCALITY
from wherewhat.studies.nope.run import STUDY as NOPE
from wherewhat.studies.row_sums.run import STUDY as ROW_SUMS
from wherewhat.studies.scratchpad.run import STUDY as SCRATCHPAD
from wherewhat.studies.speech.run import STUDY as SPEECH
from wherewhat.studies.syntax.run import STUDY as SYNTAX
from wherewhat.studies.word_swap.run import STUDY as WORD_SWAP

STUDIES: dict[str, AnyStudy] = {
    study.name: study
    for study in (
        *(CANONICAL, DYNAMICS, LOCALITY, SYNTAX, WORD_SWAP, LENGTH, SCRATCHPAD, NOPE),
        *(COUNTING, LATIN_SQUARE, ROW_SUMS, ATTRIBUTION, SPEECH, CONTROL),
    )
}
