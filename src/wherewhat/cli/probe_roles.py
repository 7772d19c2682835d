"""`wherewhat probe roles`: let agent and patient change places, and see whether a model notices."""

from pathlib import Path
from typing import Annotated

from wherewhat.cli.options import (
    TEXTS,
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
    words,
)
from wherewhat.cli.probing import Labels, Result
from wherewhat.errors import UserError
from wherewhat.progress import announce, progress

PersonNouns = Annotated[
    Path | None, option(TEXTS, "FILE", "Nouns of the treebank that are persons too, one a line: nurse, dog.")
]


def roles(
    model: Model,
    *,
    treebank: Treebanks = [],  # noqa: B006  # typer reads it, nobody writes it
    max_sentences: MaxSentences = 500,
    persons: PersonNouns = None,
    labels: Labels = None,
    seed: Seed = 0,
    dtype: Dtype = "float32",
    device: Device = "auto",
    device_map: DeviceMap = None,
    revision: Revision = None,
    offline: Offline = False,
    trust_remote_code: TrustRemoteCode = False,
    allow_pickle: AllowPickle = False,
    out: Out = Path("runs/probe-roles"),
    png: Png = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let the one who acts and the one who is acted on change places: does the model notice? As a table and one page.

    A classifier is held against the new label, a language model is asked how much the words surprise it, any other how
    far the sentence moves. Beside the exchange stand a control of equal size and the same roles in the other voice.

    Try: `wherewhat probe roles runs/nli_tiny` · `wherewhat probe roles bert-base-uncased --treebank roles.conllu`
    """
    announce(f"{model}: roles", quiet=quiet)
    result = Result(out, png=png, overwrite=overwrite, as_json=as_json, quiet=quiet)
    nouns = () if persons is None else _nouns(persons)
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
    from wherewhat.probing.roles import probe_roles

    with progress(f"{model}: roles", quiet=quiet, announced=True) as step:
        found = probe_roles(
            model,
            treebank,
            max_sentences=max_sentences,
            persons=nouns,
            labels=words(labels, "--labels"),
            seed=seed,
            loading=loading,
            on_step=step,
            say=saying(quiet),
        )
    result.take(found)


def _nouns(path: Path) -> tuple[str, ...]:
    """The nouns of a file, one a line."""
    from wherewhat.corpora.files import numbered_lines

    nouns = list[str]()
    for number, line in numbered_lines(path):
        if len(line.split()) > 1:
            raise UserError(
                f"line {number} of {path} holds more than one word ({line.strip()!r}); write one noun a line"
            )
        nouns += line.split()
    if not nouns:
        raise UserError(f"there are no nouns in {path}; write one a line, such as nurse")
    return tuple(nouns)
