"""Speech corpora: the same utterance every time, held-out recordings apart, and sentences about bad folders."""

import wave
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from wherewhat.corpora.speech import digits
from wherewhat.corpora.speech.base import SpeechCorpus
from wherewhat.corpora.speech.digits import SpokenDigits, loud, quietest
from wherewhat.corpora.speech.features import RATE
from wherewhat.corpora.speech.recordings import RecordedSpeech
from wherewhat.corpora.speech.registry import SPEECH, speech_corpus_from
from wherewhat.corpora.speech.splits import LEADING, NEW_SPEAKER
from wherewhat.corpora.speech.tones import HIGH, KEYS, LOW, SILENCE, TouchTones, tone
from wherewhat.corpora.speech.waves import read_wave, write_wave
from wherewhat.errors import UserError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of ten digits by two speakers, seven each: every one its own tone, as long as its number says."""
    place = tmp_path_factory.mktemp("digits")
    for digit in range(10):
        for speaker in ("ada", "bob"):
            for number in range(7):
                write_wave(place / f"{digit}_{speaker}_{number}.wav", tone(str(digit), 40 + 10 * number))
    (place / "README.txt").write_text("not a recording")
    return place


def test_touch_tones_have_the_frequencies_of_their_keys() -> None:
    for row, keys in enumerate(KEYS):
        for column, key in enumerate(keys):
            spectrum = np.abs(np.fft.rfft(tone(key, 1000)))
            assert sorted(np.argsort(spectrum)[-2:].tolist()) == sorted([LOW[row], HIGH[column]])


def test_an_utterance_is_always_the_same() -> None:
    tones = TouchTones()
    first, again, other = tones.utterance(1, "train", 0), tones.utterance(1, "train", 0), tones.utterance(1, "train", 1)
    assert first.words == again.words and np.array_equal(first.samples, again.samples)
    assert not np.array_equal(first.samples[:500], other.samples[:500])
    assert {len(tones.utterance(1, "train", number).words) for number in range(60)} == {1, 2, 3, 4, 5}
    assert len(tones.utterance(1, "20 digits", 0).words) == 20
    assert tones.labels(("0", "9")) == [1, 10]
    spoken, late = (tones.utterance(1, split, 4) for split in ("test", LEADING))
    assert late.words == spoken.words and len(late.samples) == len(spoken.samples) + SILENCE


def test_strings_of_digits_keep_test_recordings_and_a_speaker_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, used = SpokenDigits(str(folder), held_out="bob"), set[Path]()
    monkeypatch.setattr(digits, "loud", lambda path: (used.add(path), loud(path))[1])
    recordings = dict[str, set[tuple[str, int]]]()
    for split in corpus.splits:
        used.clear()
        for number in range(60):
            corpus.utterance(1, split, number)
        recordings[split] = {(speaker, int(take)) for _, speaker, take in (path.stem.split("_") for path in used)}
    assert recordings.pop("train") == {("ada", 5), ("ada", 6)}
    assert recordings.pop(NEW_SPEAKER) == {("bob", take) for take in range(7)}
    assert all(tested == {("ada", take) for take in range(5)} for tested in recordings.values())


def test_strings_of_digits_are_as_long_as_asked_for(folder: Path) -> None:
    corpus = SpokenDigits(str(folder), held_out="bob")
    spoken = corpus.utterance(1, "test", 4)
    late = corpus.utterance(1, LEADING, 4)
    assert late.words == spoken.words and len(late.samples) == len(spoken.samples) + SILENCE
    assert np.array_equal(late.samples[SILENCE:], spoken.samples)
    assert len(corpus.utterance(1, "15 digits", 0).words) == 15 and corpus.utterance(1, NEW_SPEAKER, 0).words
    assert np.abs(loud(folder / "3_ada_1.wav")).max() == pytest.approx(0.5)


def test_the_quietest_stretch_fills_gaps() -> None:
    take = np.concatenate([np.ones(300), np.full(160, 0.01), np.ones(300)])
    assert np.array_equal(quietest([np.ones(400), take]), np.full(160, 0.01))


def test_recordings_with_transcripts(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_wave(tmp_path / f"{name}.wav", tone("1", 100))
    (tmp_path / "transcripts.tsv").write_text("a\ttrain\tno cat\nb\ttrain\tcat\nc\ttest\tno\n")
    corpus = RecordedSpeech(str(tmp_path), units="words")
    corpus.check()
    assert corpus.vocabulary == ("cat", "no") and corpus.splits == ("test", "train")
    assert corpus.utterance(0, "train", 0).words == ("no", "cat") and corpus.size("test") == 1
    assert RecordedSpeech(str(tmp_path)).utterance(0, "test", 0).words == ("n", "o")
    with pytest.raises(UserError, match="has 1 recordings and got number 1"):
        corpus.utterance(0, "test", 1)


def transcripts(place: Path, text: str, *names: str) -> RecordedSpeech:
    place.mkdir()
    for name in names:
        write_wave(place / f"{name}.wav", tone("1", 100))
    (place / "transcripts.tsv").write_text(text)
    return RecordedSpeech(str(place))


@pytest.mark.parametrize(
    ("text", "names", "sentence"),
    [
        ("a\ttrain\n", ["a"], "line 1 of .* is 'a\ttrain'; write ID, split and text with tabs between them"),
        ("a\ttrain\tx\nb\ttest\ty\n", ["a"], "names b, and there is no b.wav; add it or take out the line"),
        ("a\ttrain\tx\n", ["a", "b"], "has b.wav, and transcripts.tsv does not name it; add a line or move it away"),
        ("a\ttest\tx\n", ["a"], "has no line of the split train; mark some as such"),
        ("a\ttrain\tx\n", ["a"], "every line of .* is of the split train; mark some as test"),
        ("a\ttrain\tx\na\ttrain\ty\n", ["a"], "line 2 of .* names a once more; give every recording one line"),
    ],
    ids=["cells", "no file", "no line", "no training", "no test", "twice"],
)
def test_bad_transcripts(tmp_path: Path, text: str, names: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        transcripts(tmp_path / "speech", text, *names).check()


def test_a_folder_without_digits(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UserError, match="has no recordings such as 7_george_12.wav"):
        SpokenDigits(str(tmp_path)).check()
    with pytest.raises(UserError, match="is no folder; give one with recordings such as"):
        SpokenDigits(str(tmp_path / "none")).check()
    with pytest.raises(UserError, match="no recording in .* is of eve; give held_out one of ada, bob"):
        SpokenDigits(str(folder), held_out="eve").check()
    SpokenDigits(str(folder)).check()
    assert SpokenDigits(str(folder)).new_speaker == "bob" and SpokenDigits(str(folder)).speakers == ["ada"]
    assert SpokenDigits(str(folder), held_out="ada").new_speaker == "ada"
    for name in ("3_ada_5", "3_ada_6"):
        (tmp_path / f"{name}.wav").write_bytes((folder / f"{name}.wav").read_bytes())
    write_wave(tmp_path / "3_bob_0.wav", tone("3", 90))
    with pytest.raises(UserError, match="has no recording of 0 by bob for testing; numbers below 5 are for testing"):
        SpokenDigits(str(tmp_path), held_out="bob").check()


def test_a_damaged_digit_is_named_before_anything_is_learnt(tmp_path: Path) -> None:
    for digit, speaker, number in product(range(10), ("ada", "bob"), (0, 5)):
        write_wave(tmp_path / f"{digit}_{speaker}_{number}.wav", tone(str(digit), 90))
    SpokenDigits(str(tmp_path), held_out="bob").check()
    path = tmp_path / "4_ada_5.wav"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="4_ada_5.wav is cut short"):
        SpokenDigits(str(tmp_path), held_out="bob").check()


def test_waves_of_other_rates_are_resampled_and_others_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"

    def write(rate: int, width: int, channels: int = 1) -> None:
        times = np.arange(rate * channels) // channels / rate
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(width)
            file.setframerate(rate)
            file.writeframes((8000 * np.sin(2 * np.pi * 440 * times)).astype("<i2" if width == 2 else "<i4").tobytes())

    for rate, channels in ((8000, 1), (16_000, 1), (44_100, 2)):
        write(rate, 2, channels)
        samples = read_wave(path)
        assert len(samples) == RATE and np.abs(np.fft.rfft(samples)).argmax() == 440
    write(8000, 4)
    with pytest.raises(UserError, match="has 32 bits per sample; convert it to 16-bit PCM"):
        read_wave(path)
    write(8000, 2)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="is cut short: it has .* bytes of 16,000; copy it again"):
        read_wave(path)
    path.write_bytes(b"not a wave")
    with pytest.raises(UserError, match="is no WAV file of plain samples .*; convert it to 16-bit PCM"):
        read_wave(path)
    with pytest.raises(UserError, match="cannot be read"):
        read_wave(tmp_path / "none.wav")


def test_a_corpus_comes_back_from_plain_values(folder: Path) -> None:
    for corpus in (TouchTones(longest=3), SpokenDigits(str(folder), held_out="ada"), RecordedSpeech("x")):
        assert speech_corpus_from(corpus.plain()) == corpus and isinstance(corpus, SpeechCorpus)
        assert SPEECH[corpus.name].cls is type(corpus)
    with pytest.raises(UserError, match="the digits corpus lacks what it is made from; give its folder"):
        speech_corpus_from({"name": "digits"})
    with pytest.raises(UserError, match="unknown speech corpus 'tone'; did you mean 'tones'"):
        speech_corpus_from({"name": "tone"})
