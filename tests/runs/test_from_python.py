"""What someone meets who calls wherewhat from Python: names, errors, and how a profile shows itself."""

import ast
import base64
import pickle
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch

import wherewhat as ww
from wherewhat.errors import UserError, in_python
from wherewhat.runs.registry import Profile

SOURCE = Path(ww.__file__).parent
IDS = [[5, 17, 3, 8, 9, 2], [4, 4, 1, 7, 0, 6, 11]]


@pytest.fixture(scope="module")
def profile() -> Profile:
    return ww.profile("tiny", max_texts=3, untrained=False)


def refusal(call: object) -> UserError:
    with pytest.raises(UserError) as raised:
        call()  # type: ignore[operator]
    return raised.value


def test_the_version_is_that_of_the_package():
    assert ww.__version__ == version("wherewhat")
    assert set(dir(ww)) >= {"LoadSettings", "__version__", "profile"}
    assert ww.LoadSettings(dtype="float64").dtype == "float64"


def test_a_public_function_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(ww.profile)) is ww.profile
    assert ww.profile.__doc__.startswith("Measure where every head")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: ww.profile("tiny", querys=5),
            "profile has no keyword 'querys'; did you mean 'queries'? known: add_bos,",
        ),
        (lambda: ww.profile("tiny", tokeniser=None), "profile has no keyword 'tokeniser'; did you mean 'tokenizer'?"),
        (lambda: ww.profile("tiny", dtype="float64"), "no keyword 'dtype'; write loading=LoadSettings(dtype=...)"),
        (lambda: ww.compare(["tiny"], untraned=1), "compare has no keyword 'untraned'; did you mean 'untrained'?"),
        (
            lambda: ww.measure_edit("tiny", None, ww.Edit(), max_text=2),
            "no keyword 'max_text'; did you mean 'max_texts'?",
        ),
        (lambda: ww.profile("tiny", textes=["a"]), "profile has no keyword 'textes'; did you mean 'texts'?"),
        (lambda: ww.probe("words", "tiny", sise=(3,)), "probe has no keyword 'sise'; did you mean 'sizes'?"),
        (lambda: ww.probe("words", "tiny", progres=True), "probe has no keyword 'progres'; did you mean 'progress'?"),
        (lambda: ww.train(ww.recipe("tiny"), outt="run"), "train has no keyword 'outt'; did you mean 'out'? known: "),
        (
            lambda: ww.reproduce("canonical", progres=True),
            "reproduce has no keyword 'progres'; did you mean 'progress'",
        ),
        (lambda: ww.edit(None, unrotat="all"), "edit has no keyword 'unrotat'; did you mean 'unrotate'? known: ablate"),
        (lambda: ww.load(foldr="run"), "load has no keyword 'foldr'; did you mean 'folder'? known: folder"),
        (lambda: ww.Edit(dropp="all"), "Edit has no keyword 'dropp'; did you mean 'drop'? known: ablate, drop,"),
        (
            lambda: ww.LoadSettings(dtyp="float64"),
            "LoadSettings has no keyword 'dtyp'; did you mean 'dtype'? known: allow_p",
        ),
        (lambda: ww.probe("roles", "tiny", sed=3), "no keyword 'sed'; did you mean 'seed'?"),
        (lambda: ww.probe("dependencies", "tiny", leest=3), "no keyword 'leest'; did you mean 'least'?"),
    ],
    ids=lambda value: None if isinstance(value, str) else "call",
)
def test_a_misspelt_keyword_is_answered_with_the_right_one(call: object, sentence: str):
    assert sentence in str(refusal(call))


@pytest.mark.parametrize(
    ("call", "said", "typed"),
    [
        (lambda: ww.profile("tiny", scores=["random.induction"]), "with random=True", "with --random"),
        (lambda: ww.profile("tiny", scores=["positional@0.5"]), "add it to tau", "add it to --tau"),
        (lambda: ww.profile("tiny", hidden=False, scores=["mean.pos_pos"]), "without hidden=False", "--no-hidden"),
        (lambda: ww.compare(["tiny"]), "or add untrained=1 to", "or add --untrained to"),
        (
            lambda: ww.measure_edit("tiny", None, ww.Edit()),
            "with drop, unrotate, keep",
            "with --drop, --unrotate, --keep",
        ),
        (lambda: ww.profile("tiny", loading=ww.LoadSettings(device="abacus")), '(device="auto")', "--device auto"),
    ],
    ids=["flag", "value", "no", "draws", "edit", "loading"],
)
def test_an_error_names_keywords_in_python_and_options_after_a_command(call: object, said: str, typed: str):
    error = refusal(call)
    assert said in str(error) and "--" not in str(error)
    assert typed in error.typed


def test_what_a_run_refuses_is_said_in_python_too(profile: Profile, tmp_path: Path):
    profile.save(tmp_path / "run")
    error = refusal(lambda: profile.save(tmp_path / "run"))
    assert str(error).endswith("choose another folder or add overwrite=True")
    assert error.typed.endswith("choose another --out or add --overwrite")
    (tmp_path / "run" / "heads.parquet").write_bytes(b"")
    error = refusal(lambda: ww.load(tmp_path / "run"))
    assert str(error).endswith("make the run again and save it with overwrite=True")


def sentences() -> Iterator[str]:
    """Every text inside an error that somebody in Python may get."""
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "UserError":
                texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                yield from (text for text in texts if isinstance(text, str))


def test_no_sentence_speaks_of_options_to_someone_in_python():
    typed = [sentence for sentence in sentences() if "--" in sentence]
    assert len(typed) > 30
    assert not [in_python(sentence) for sentence in typed if "--" in in_python(sentence)]
    others = [sentence for sentence in sentences() if "--" not in sentence and "from Python" not in sentence]
    assert all(in_python(sentence) == sentence for sentence in others)


@pytest.mark.parametrize(
    "texts",
    [IDS, [np.array(ids) for ids in IDS], (tuple(ids) for ids in IDS), [IDS[0], torch.tensor(IDS[1])]],
    ids=["lists", "arrays", "tuples", "mixed"],
)
def test_token_ids_are_taken_however_they_are_written(texts: object):
    found = ww.profile("tiny", texts, untrained=False)
    same = ww.profile("tiny", [torch.tensor(ids) for ids in IDS], untrained=False)
    assert found.heads.equals(same.heads)
    assert found.manifest.to_dict()["texts"]["hash"] == same.manifest.to_dict()["texts"]["hash"]


def test_a_table_of_token_ids_is_a_text_a_row():
    rows = np.array([IDS[0], IDS[0][::-1]], dtype=np.int32)
    assert ww.profile("tiny", rows, untrained=False).manifest.to_dict()["texts"]["count"] == 2


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ([1, 2, 3], "text 0 is the number 1; put the token ids of a text into a list of their own, [ids]"),
        (np.array([1, 2, 3]), "text 0 is the number 1; put the token ids"),
        (
            [IDS[0], [0.5, 1.0]],
            "text 1 is a list that does not hold whole numbers; give a string, or token ids as a li",
        ),
        ([torch.rand(4)], "text 0 is a Tensor that does not hold whole numbers"),
        ([None], "text 0 is a NoneType that does not hold whole numbers"),
        ([[5, 10**6]], "token id 1000000 does not fit tiny"),
    ],
    ids=["flat", "flat array", "fractions", "float tensor", "nothing", "too large"],
)
def test_what_are_no_token_ids_is_refused(texts: object, sentence: str):
    assert sentence in str(refusal(lambda: ww.profile("tiny", texts)))


def test_a_profile_says_in_three_lines_what_it_is(profile: Profile):
    first, second, third = repr(profile).splitlines()
    assert first == "Profile of tiny: 4 layers × 4 heads"
    tokens = profile.manifest.to_dict()["texts"]["tokens"]
    assert second == f"3 texts, 3 windows, {tokens} tokens, {profile.heads['rows'].max()} rows"
    assert all(hasattr(profile, name) for name in re.findall(r"\.(\w+)", third))
    assert profile._repr_mimebundle_()["text/plain"] == repr(profile)


def test_a_notebook_shows_the_triangle_and_loads_nothing(profile: Profile):
    shown = profile._repr_html_()
    assert profile._repr_mimebundle_()["text/html"].startswith("<figure><img ")
    (source,) = re.findall(r'src="([^"]*)"', shown)
    head, _, encoded = source.partition(",")
    assert head == "data:image/svg+xml;base64"
    drawn = base64.b64decode(encoded).decode()
    assert "Where or what" in drawn and drawn.count("<path") >= 16
    assert not re.findall(
        r'(?:href|src)="(?!#|data:)|url\((?!#)|<script|@import', drawn + shown.replace(source, "data:")
    )


def test_a_notebook_shows_every_kind_of_run_by_its_first_picture(tmp_path: Path):
    compared = ww.compare(["tiny"], untrained=1, max_texts=3)
    assert 'alt="The ' in compared._repr_html_()
