"""Training on recordings through the command: what works, and every bad input with a sentence and nothing written."""

import json
import os
import re
import subprocess
import sys
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wherewhat.cli.main import main
from wherewhat.corpora.speech.recordings import RecordedSpeech
from wherewhat.corpora.speech.tones import tone
from wherewhat.corpora.speech.waves import write_wave

SMALL = [f"--set={change}" for change in ("width=16", "layers=1", "heads=2", "kernel=3", "steps=2", "batch=2")]
SMALL += ["--set=evaluate_samples=2", "--set=warmup=1"]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "speech.md"


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    place = tmp_path / "recordings"
    place.mkdir()
    for number, name in enumerate(("a", "b", "c")):
        write_wave(place / f"{name}.wav", tone(str(number), 300))
    (place / "transcripts.tsv").write_text("a\ttrain\tno\nb\ttrain\tyes\nc\ttest\tno\n")
    return place


def trained(folder: Path, out: Path, *more: str) -> int:
    return main(
        ["train", "conformer_digits", f"--set=speech=recordings={folder}", *SMALL, *more, "--out", str(out), "--quiet"]
    )


def test_recordings_are_learnt_resumed_and_profiled(
    recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert trained(recordings, out) == 0 and trained(recordings, out) == 2
    assert "choose another --out" in capsys.readouterr().err
    assert trained(recordings, out, "--resume") == 0
    config = json.loads((out / "model" / "config.json").read_text())
    assert config["speech"] == {"name": "recordings", "folder": str(recordings), "units": "characters"}
    assert config["net"]["vocabulary"] == len(set("noyes")) + 1
    assert main(["heads", str(out), "--out", str(tmp_path / "heads"), "--quiet"]) == 0


def test_a_net_finds_its_recordings_from_another_folder(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert trained(Path("recordings"), tmp_path / "run") == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["heads", str(tmp_path / "run"), "--out", "heads", "--quiet"]) == 0


def test_what_a_corpus_is_made_from_can_be_set(recordings: Path, tmp_path: Path) -> None:
    assert trained(recordings, tmp_path / "run", "--set=units=words") == 0
    config = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert config["speech"]["units"] == "words" and config["net"]["vocabulary"] == len({"no", "yes"}) + 1


def test_a_test_of_another_name_is_used(recordings: Path, tmp_path: Path) -> None:
    lines = "\ufeffa\ttrain\tno\nb\ttrain\tyes\nc\tkitchen\tno\n"  # as some editors save it
    (recordings / "transcripts.tsv").write_text(lines, encoding="utf-8")
    assert trained(recordings, tmp_path / "run") == 0
    assert main(["heads", str(tmp_path / "run"), "--out", str(tmp_path / "heads"), "--quiet"]) == 0


def test_recordings_that_changed_are_not_mixed_into_a_run(
    recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained(recordings, tmp_path / "run") == 0
    write_wave(recordings / "a.wav", tone("7", 300))
    assert trained(recordings, tmp_path / "run", "--resume") == 2
    assert "changed since the run began; restore it, or start again with --overwrite" in capsys.readouterr().err


def test_another_rate_is_resampled(recordings: Path, tmp_path: Path) -> None:
    with wave.open(str(recordings / "a.wav"), "wb") as file:
        file.setparams((2, 2, 22_050, 0, "NONE", ""))
        file.writeframes(np.zeros(2 * 22_050, "<i2").tobytes())
    assert trained(recordings, tmp_path / "run") == 0


def of_24_bits(place: Path) -> None:
    with wave.open(str(place / "a.wav"), "wb") as file:
        file.setparams((1, 3, 8000, 0, "NONE", ""))
        file.writeframes(bytes(3 * 4000))


def cut_short(place: Path) -> None:
    (place / "b.wav").write_bytes((place / "b.wav").read_bytes()[:-800])


def too_short(place: Path) -> None:
    write_wave(place / "a.wav", tone("1", 60))
    (place / "transcripts.tsv").write_text("a\ttrain\tnoon noon\nb\ttrain\tyes\nc\ttest\tno\n")


def at_a_wild_rate(place: Path) -> None:
    with wave.open(str(place / "a.wav"), "wb") as file:
        file.setparams((1, 2, 1000, 0, "NONE", ""))
        file.writeframes(bytes(2000))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (of_24_bits, r"a\.wav has 24 bits per sample; convert it to 16-bit PCM"),
        (
            lambda place: (place / "a.wav").write_bytes(b"ID3 music"),
            r"a\.wav is no WAV file of plain samples .*convert",
        ),
        (cut_short, r"b\.wav is cut short: it has 4,000 bytes of 4,800; copy it again"),
        (at_a_wild_rate, r"a\.wav has 1,000 samples per second; give between 4,000 and 192,000"),
        (lambda place: (place / "c.wav").unlink(), r"names c, and there is no c\.wav; add it or take out the line"),
        (
            lambda place: write_wave(place / "d.wav", tone("1", 90)),
            r"has d\.wav, and transcripts\.tsv does not name it",
        ),
        (lambda place: (place / "transcripts.tsv").unlink(), r"transcripts\.tsv cannot be read \(No such file"),
        (lambda place: (place / "transcripts.tsv").write_bytes(b"a\ttrain\t\xff\n"), "is not UTF-8 text; save it as"),
        (too_short, r"a\.wav has \d tokens of 40 ms, and its words take at least 11; leave it out"),
        (
            lambda place: write_wave(place / "c.wav", tone("1", 10)),
            r"c\.wav has 0 tokens of 40 ms, and its words take at least 2; leave it out",
        ),
        (
            lambda place: (place / "transcripts.tsv").write_text("a\ttrain\tno\nb\ttrain\tyes\nc\ttrain\tno\n"),
            r"every line of .*transcripts\.tsv is of the split train; mark some as test",
        ),
        (
            lambda place: (place / "transcripts.tsv").write_text("a\ttrain\t \nb\ttrain\tyes\nc\ttest\tno\n"),
            r"line 1 of .*transcripts\.tsv is 'a\ttrain\t '; write ID, split and text with tabs",
        ),
    ],
    ids=[
        *("bits", "format", "cut", "rate", "no file", "no line", "no transcripts", "bytes", "words", "window"),
        *("no test", "no words"),
    ],
)
def test_bad_recordings_are_refused(
    spoil: Callable[[Path], object],
    sentence: str,
    recordings: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spoil(recordings)
    assert trained(recordings, tmp_path / "run") == 2
    shown = capsys.readouterr().err
    assert re.search(sentence, shown), shown
    assert shown.count("\n") == 1 and not list((tmp_path / "run").glob("*"))  # refused before anything is learnt


def test_a_folder_that_is_missing_or_not_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "conformer_digits", "--out", str(tmp_path / "run"), "--quiet"]
    for speech, sentence in (
        ("digits", "the digits corpus lacks what it is made from; give its folder"),
        ("digits=nowhere", "nowhere is no folder; give one with recordings such as 7_george_12.wav"),
        (
            "recordings=nowhere",
            "transcripts.tsv cannot be read (No such file or directory); write one line per recording",
        ),
        ("tone", "unknown speech corpus 'tone'; did you mean 'tones'"),
        ("tones --set shortest=0", "utterances have 0 to 5 digits; give 1 <= shortest <= longest"),
        ("digits=nowhere --set longest=0", "utterances have 1 to 0 digits; give 1 <= shortest <= longest"),
    ):
        assert main([*words, "--set", *f"speech={speech}".split()]) == 2
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_page_makes_sentences_with_a_synthesiser(tmp_path: Path) -> None:
    """The script of the page, with a few sentences and a synthesiser that only writes a tone."""
    synthesiser = tmp_path / "espeak-ng"
    code = "import sys; from pathlib import Path; from wherewhat.corpora.speech.waves import write_wave as w; "
    code += "from wherewhat.corpora.speech.tones import tone; w(Path(sys.argv[6]), tone('1', 4000))"
    synthesiser.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
    synthesiser.chmod(0o755)
    script = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0].replace("2000", "17")
    paths = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, **paths}, check=True)
    corpus = RecordedSpeech(str(tmp_path / "sentences"))
    corpus.check()
    assert set(corpus.splits) == {"train", "test", "new voice"} and corpus.size("new voice") == 2
