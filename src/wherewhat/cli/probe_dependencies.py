"""`wherewhat probe dependencies`: which heads find the head word of a word, by position, by content or by both."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from wherewhat.cli.groups import ADVANCED, MEASURE, TEXTS, grouped, option
from wherewhat.cli.options import Model, ModelOptions, OutputOptions, Seed, TreebankOptions
from wherewhat.cli.parse import parse_names
from wherewhat.cli.probe_output import write_probe
from wherewhat.errors import UserError
from wherewhat.progress import progress


@dataclass(frozen=True, kw_only=True)
class ManySentences(TreebankOptions):
    """Which gold sentences are read, with another default."""

    max_sentences: Annotated[
        int | None, option(TEXTS, "N", "Sample N usable sentences per treebank (1000; grammar 500).")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RelationOptions:
    """Which parts of attention are scored, and how."""

    parts: Annotated[
        str | None,
        option(MEASURE, "NAMES", "Some of full, positional (position alone), contextual (content alone), shuffled."),
    ] = None
    least: Annotated[int | None, option(MEASURE, "N", "Drop relations with fewer rows (100; grammar 20).")] = None
    selection: Annotated[
        str, option(MEASURE, "halves|same", "Choose heads on the other half of the sentences, or on the same ones.")
    ] = "halves"
    subtypes: Annotated[bool, option(MEASURE, None, "Keep subtypes such as nsubj:pass apart.", "--subtypes")] = False
    permutations: Annotated[
        int, option(ADVANCED, "N", "Permutations of the words that contextual attention is averaged over.")
    ] = 16
    copies: Annotated[int, option(ADVANCED, "N", "Words to repeat, one at a time, for positional attention.")] = 32
    offsets: Annotated[str, option(ADVANCED, "FROM..TO", "Fixed offsets that heads are compared with.")] = "-5..5"
    seed: Seed = 0


@grouped
def dependencies(
    model: Model,
    *,
    relations: RelationOptions = RelationOptions(),
    loading: ModelOptions = ModelOptions(),
    sentences: ManySentences = ManySentences(),
    output: OutputOptions = OutputOptions(out=Path("runs/probe-dependencies")),
) -> None:
    """Find dependency relations in the attention of every head: does it attend to a word's head word?

    Full attention is compared with position alone, content alone, the best fixed offset, and the same heads on shuffled
    sentences. Several treebanks are several languages side by side.

    Try: `wherewhat probe dependencies runs/bert` · `wherewhat probe dependencies MODEL --treebank en.conllu`
    """
    output.begin(f"{model}: dependencies", "probe")
    parts = parse_names(relations.parts, "--parts")
    only: dict[str, Any] = {"parts": parts} if parts else {}
    load_settings = loading.settings(model)
    from wherewhat.probing.dependencies.probe import probe_dependencies

    with progress(f"{model}: dependencies", quiet=output.quiet, announced=True) as step:
        run = probe_dependencies(
            model,
            sentences.treebank,
            **only,
            max_sentences=sentences.max_sentences,
            permutations=relations.permutations,
            copies=relations.copies,
            offsets=_offsets(relations.offsets),
            least=relations.least,
            selection=relations.selection,
            subtypes=relations.subtypes,
            seed=relations.seed,
            loading=load_settings,
            on_step=step,
            say=output.say,
        )
    write_probe(run, output)


def _offsets(text: str) -> tuple[int, int]:
    """Read the first and the last offset.

    >>> _offsets("-3..2")
    (-3, 2)
    """
    low, _, high = text.partition("..")
    try:
        return int(low), int(high)
    except ValueError:
        raise UserError(f"--offsets is '{text}'; write the first and the last, like -5..5") from None
