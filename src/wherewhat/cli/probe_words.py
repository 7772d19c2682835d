"""`wherewhat probe words`: shuffle words within constituents, and measure how a model's outputs change."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from wherewhat.cli.groups import MEASURE, grouped, option
from wherewhat.cli.options import Model, ModelOptions, OutputOptions, Seed, TreebankOptions
from wherewhat.cli.parse import parse_names
from wherewhat.cli.probe_output import Labels, write_probe
from wherewhat.progress import progress


@dataclass(frozen=True, kw_only=True)
class ShuffleOptions:
    """Which words are shuffled."""

    sizes: Annotated[str, option(MEASURE, "SIZES", "Words per constituent, or whole for the sentence.")] = (
        "3,4,5,6,whole"
    )
    which: Annotated[str, option(MEASURE, "both|premise|hypothesis", "The sentence of a pair that is shuffled.")] = (
        "both"
    )
    labels: Labels = None
    seed: Seed = 0


@grouped
def words(
    model: Model,
    *,
    shuffle: ShuffleOptions = ShuffleOptions(),
    loading: ModelOptions = ModelOptions(),
    sentences: TreebankOptions = TreebankOptions(),
    output: OutputOptions = OutputOptions(out=Path("runs/probe-words")),
) -> None:
    """Shuffle words within constituents, and in the whole sentence: a model's outputs before and after, on one page.

    For a classifier its labels are compared, for a language model the surprisal, for other models the hidden states.
    Every shuffle has a control: as many words shuffled across constituent boundaries.

    Try: `wherewhat probe words runs/nli_tiny` · `wherewhat probe words gpt2 --treebank trees.txt --sizes 3,whole`
    """
    output.begin(f"{model}: words", "probe")
    load_settings = loading.settings(model)
    from wherewhat.probing.words import probe_words

    with progress(f"{model}: words", quiet=output.quiet, announced=True) as step:
        run = probe_words(
            model,
            sentences.treebank,
            sizes=parse_names(shuffle.sizes, "--sizes"),
            which=shuffle.which,
            max_sentences=sentences.max_sentences or 0,
            labels=parse_names(shuffle.labels, "--labels"),
            seed=shuffle.seed,
            loading=load_settings,
            on_step=step,
            say=output.say,
        )
    write_probe(run, output)
