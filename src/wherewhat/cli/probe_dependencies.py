"""`wherewhat probe dependencies`: which heads find the governor of a word, by place, by content or by both."""

from pathlib import Path
from typing import Annotated

from wherewhat.cli.options import (
    ASKED,
    TEXTS,
    AllowPickle,
    Device,
    DeviceMap,
    Dtype,
    Json,
    Model,
    Offline,
    Out,
    Overwrite,
    Png,
    Quiet,
    Revision,
    Seed,
    Treebanks,
    TrustRemoteCode,
    loading_by,
    option,
    saying,
    words,
)
from wherewhat.cli.probing import Result
from wherewhat.errors import UserError
from wherewhat.progress import announce, progress

Most = Annotated[
    int | None, option(TEXTS, "N", "Take so many usable sentences of each, chosen by the seed (1000; grammar 500).")
]
Parts = Annotated[
    str | None,
    option(
        ASKED,
        "NAMES",
        "Only some of full, positional (place alone), contextual (content alone), shuffled; unless said all.",
    ),
]
Permutations = Annotated[int, option(ASKED, "N", "Orders of the words that contextual attention is averaged over.")]
Copies = Annotated[int, option(ASKED, "N", "Words that are repeated for positional attention.")]
Offsets = Annotated[str, option(ASKED, "FROM..TO", "Fixed offsets that heads are held against.")]
Least = Annotated[int | None, option(ASKED, "N", "Drop relations with fewer rows (100; grammar 20).")]
Selection = Annotated[
    str, option(ASKED, "halves|same", "Choose heads on the other half of the sentences, or on the same ones.")
]
Subtypes = Annotated[bool, option(ASKED, None, "Keep subtypes such as nsubj:pass apart.", "--subtypes")]


def dependencies(
    model: Model,
    *,
    treebank: Treebanks = [],  # noqa: B006  # typer reads it, nobody writes it
    max_sentences: Most = None,
    parts: Parts = None,
    permutations: Permutations = 16,
    copies: Copies = 32,
    offsets: Offsets = "-5..5",
    least: Least = None,
    selection: Selection = "halves",
    subtypes: Subtypes = False,
    seed: Seed = 0,
    dtype: Dtype = "float32",
    device: Device = "auto",
    device_map: DeviceMap = None,
    revision: Revision = None,
    offline: Offline = False,
    trust_remote_code: TrustRemoteCode = False,
    allow_pickle: AllowPickle = False,
    out: Out = Path("runs/probe-dependencies"),
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look for dependency relations in the attention of every head: does it look at a word's governor? A table, a page.

    Attention as it is stands beside what place alone and content alone make of it, the best fixed offset, and the
    same heads on shuffled sentences. Several treebanks are several languages side by side.

    Try: `wherewhat probe dependencies runs/bert` · `wherewhat probe dependencies MODEL --treebank en.conllu`
    """
    announce(f"{model}: dependencies", quiet=quiet)
    result = Result(out, png=png, overwrite=overwrite, as_json=as_json, quiet=quiet)
    asked = words(parts, "--parts")
    loading = loading_by(
        dtype,
        device,
        model,
        offline=offline,
        device_map=device_map,
        revision=revision,
        trust_remote_code=trust_remote_code,
        allow_pickle=allow_pickle,
    )
    from wherewhat.probing.dependencies.probe import probe_dependencies

    with progress(f"{model}: dependencies", quiet=quiet, announced=True) as step:
        found = probe_dependencies(
            model,
            treebank,
            **({"parts": asked} if asked else {}),
            max_sentences=max_sentences,
            permutations=permutations,
            copies=copies,
            offsets=_offsets(offsets),
            least=least,
            selection=selection,
            subtypes=subtypes,
            seed=seed,
            loading=loading,
            on_step=step,
            say=saying(quiet),
        )
    result.take(found)


def _offsets(text: str) -> tuple[int, int]:
    """Read where offsets begin and end.

    >>> _offsets("-3..2")
    (-3, 2)
    """
    low, _, high = text.partition("..")
    try:
        return int(low), int(high)
    except ValueError:
        raise UserError(f"--offsets is '{text}'; write where they begin and end, like -5..5") from None
