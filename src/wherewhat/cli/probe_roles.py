"""`wherewhat probe roles`: swap agent and patient, and measure whether a model notices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from wherewhat.cli.groups import TEXTS, grouped, option
from wherewhat.cli.options import Model, ModelOptions, OutputOptions, Seed, TreebankOptions
from wherewhat.cli.parse import parse_names
from wherewhat.cli.probe_output import Labels, write_probe
from wherewhat.errors import UserError
from wherewhat.progress import progress


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """Which roles are swapped."""

    persons: Annotated[
        Path | None, option(TEXTS, "FILE", "Nouns that count as persons in the treebank, one per line, such as nurse.")
    ] = None
    labels: Labels = None
    seed: Seed = 0

    @property
    def nouns(self) -> tuple[str, ...]:
        """The nouns of the file, one per line."""
        if self.persons is None:
            return ()
        from wherewhat.corpora.files import numbered_lines

        nouns = list[str]()
        for number, line in numbered_lines(self.persons):
            if len(line.split()) > 1:
                raise UserError(
                    f"line {number} of {self.persons} holds more than one word ({line.strip()!r}); write one noun per "
                    "line"
                )
            nouns += line.split()
        if not nouns:
            raise UserError(f"there are no nouns in {self.persons}; write one per line, such as nurse")
        return tuple(nouns)


@grouped
def roles(
    model: Model,
    *,
    swap: RoleOptions = RoleOptions(),
    loading: ModelOptions = ModelOptions(),
    sentences: TreebankOptions = TreebankOptions(),
    output: OutputOptions = OutputOptions(out=Path("runs/probe-roles")),
) -> None:
    """Swap agent and patient: does the model notice? As a table and one page.

    A classifier is compared with the new label; for a language model the surprisal is measured, for other models the
    distance of hidden states. Beside it: a control swap of equal size, and the same roles in the other voice.

    Try: `wherewhat probe roles runs/nli_tiny` · `wherewhat probe roles bert-base-uncased --treebank roles.conllu`
    """
    output.begin(f"{model}: roles", "probe")
    nouns, load_settings = swap.nouns, loading.settings(model)
    from wherewhat.probing.roles import probe_roles

    with progress(f"{model}: roles", quiet=output.quiet, announced=True) as step:
        run = probe_roles(
            model,
            sentences.treebank,
            persons=nouns,
            max_sentences=sentences.max_sentences or 0,
            labels=parse_names(swap.labels, "--labels"),
            seed=swap.seed,
            loading=load_settings,
            on_step=step,
            say=output.say,
        )
    write_probe(run, output)
