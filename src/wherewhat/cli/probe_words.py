"""`wherewhat probe words`: shuffle words inside phrases, and see what a model makes of it."""

from pathlib import Path
from typing import Annotated

from wherewhat.cli.options import (
    ASKED,
    AllowPickle,
    Device,
    DeviceMap,
    Dtype,
    Json,
    MaxSentences,
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
)
from wherewhat.cli.options import words as names
from wherewhat.cli.probing import Labels, Result
from wherewhat.progress import announce, progress


def words(
    model: Model,
    *,
    treebank: Treebanks = [],  # noqa: B006  # typer reads it, nobody writes it
    sizes: Annotated[str, option(ASKED, "SIZES", "Words in a phrase, or whole for the sentence.")] = "3,4,5,6,whole",
    max_sentences: MaxSentences = 500,
    which: Annotated[str, option(ASKED, "both|premise|hypothesis", "Which sentence of a pair is shuffled.")] = "both",
    labels: Labels = None,
    seed: Seed = 0,
    dtype: Dtype = "float32",
    device: Device = "auto",
    device_map: DeviceMap = None,
    revision: Revision = None,
    offline: Offline = False,
    trust_remote_code: TrustRemoteCode = False,
    allow_pickle: AllowPickle = False,
    out: Out = Path("runs/probe-words"),
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Shuffle the words inside phrases, and of the whole sentence: what a model says before and after, on one page.

    A classifier is asked for labels, a language model how much the words surprise it, any other how far a sentence
    moves. Beside every shuffle stands a control: as many words shuffled across the borders of phrases.

    Try: `wherewhat probe words runs/nli_tiny` · `wherewhat probe words gpt2 --treebank trees.txt --sizes 3,whole`
    """
    announce(f"{model}: words", quiet=quiet)
    result = Result(out, png=png, overwrite=overwrite, as_json=as_json, quiet=quiet)
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
    from wherewhat.probing.words import probe_words

    with progress(f"{model}: words", quiet=quiet, announced=True) as step:
        found = probe_words(
            model,
            treebank,
            sizes=names(sizes, "--sizes"),
            max_sentences=max_sentences,
            which=which,
            labels=names(labels, "--labels"),
            seed=seed,
            loading=loading,
            on_step=step,
            say=saying(quiet),
        )
    result.take(found)
