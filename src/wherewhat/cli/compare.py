"""`wherewhat compare`: the same heads across models or checkpoints, before and after training."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wherewhat.cli.clock import seconds
from wherewhat.cli.groups import ADVANCED, MEASURE, grouped, option
from wherewhat.cli.options import InputOptions, ModelOptions, OutputOptions, TextOptions
from wherewhat.cli.parse import parse_count, parse_names
from wherewhat.errors import UserError
from wherewhat.progress import progress

if TYPE_CHECKING:
    from wherewhat.runs.registry import Comparison

DRAWS = 3  # of untrained weights, by default


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What is compared; what is left out is as in the first run."""

    untrained: Annotated[
        bool, option(MEASURE, None, "Compare with untrained weights of the first model's architecture.", "--untrained")
    ] = False
    similar: Annotated[
        bool, option(MEASURE, None, "Also compare every head with every head by their attention.", "--similar")
    ] = False
    scores: Annotated[str | None, option(MEASURE, "NAMES", "Only these scores, such as locality,sink.")] = None
    queries: Annotated[str | None, option(MEASURE, "last|N|all", "Query rows to read per window, evenly spread.")] = (
        None
    )
    draws: Annotated[int | None, option(ADVANCED, "N", f"Draws of untrained weights ({DRAWS}).")] = None
    seed: Annotated[int | None, option(ADVANCED, "N", "Seed of everything that is drawn at random.")] = None

    @property
    def settings(self) -> dict[str, Any]:
        """What was given, as fields of `ProfileSettings`."""
        given = {
            "scores": None if self.scores is None else parse_names(self.scores, "--scores"),
            "queries": None if self.queries is None else parse_count(self.queries, "--queries", "last", "all"),
            "seed": self.seed,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def untrained_draws(self) -> int:
        """How many draws of untrained weights to compare with."""
        if self.draws is not None and not self.untrained:
            raise UserError("--draws counts draws of untrained weights; add --untrained to compare with them")
        if self.draws is not None and self.draws < 1:
            raise UserError(f"--draws is {self.draws}; draw untrained weights at least once")
        return (DRAWS if self.draws is None else self.draws) if self.untrained else 0


@grouped
def compare(
    models: Annotated[
        list[str], typer.Argument(help="Runs of `wherewhat heads`, or models to profile now.", metavar="RUN|MODEL...")
    ],
    *,
    loading: ModelOptions = ModelOptions(dtype=None, device=None),
    texts: TextOptions = TextOptions(max_texts=None),
    comparison: CompareOptions = CompareOptions(),
    inputs: InputOptions = InputOptions(),
    output: OutputOptions = OutputOptions(out=Path("runs/compare")),
) -> None:
    """Compare the same heads across runs: how every score changed, with intervals, as a table and one page.

    Every later run or model is compared with the first. Runs are read from their tables; models are profiled now, by
    default on the texts and with the settings of the first.

    Try: `wherewhat compare tiny --untrained` · `wherewhat compare runs/a runs/b` ·
    `wherewhat compare run/snapshots/*`
    """
    output.begin("compare", "compare")
    draws, load_settings = comparison.untrained_draws, loading.settings_if_given(models)
    settings = comparison.settings | _inputs(inputs, comparison.seed)
    given = {"max_texts": texts.max_texts, "max_tokens": texts.max_tokens, "add_bos": texts.add_bos or None}
    settings |= {name: value for name, value in given.items() if value is not None}
    from wherewhat.comparing.compare import compare as compare_runs

    with progress("compare", quiet=output.quiet, announced=True) as step:
        run = compare_runs(
            models,
            texts.read(),
            untrained=draws,
            similar=comparison.similar,
            loading=load_settings,
            on_step=step,
            say=output.say,
            source=texts.origin,
            **settings,
        )
    output.write(run)
    _print(run, output)


def _inputs(inputs: InputOptions, seed: int | None) -> dict[str, Any]:
    """How the positional part and repeated tokens are measured; by default as in the first run."""
    settings = inputs.settings(seed)
    if inputs.positional and inputs.copies is None and inputs.words is None:
        settings["positional"] = True
    return settings


def _print(run: "Comparison", output: OutputOptions) -> None:
    changes = run.leading
    if output.as_json:
        manifest = run.manifest.to_dict()
        summary: dict[str, Any] = {"out": str(output.out), "report": str(output.report)}
        summary |= {"compared": [state.name for state in run.manifest.compared], "changes": changes}
        summary |= {"findings": run.sentences, **({"similar": manifest["similar"]} if manifest["similar"] else {})}
        print(json.dumps({**summary, "claims": manifest["claims"], "seconds": seconds()}))
    elif not output.quiet:
        for sentence in run.sentences:
            print(sentence)
        print(f"{changes[0]['against']} and {changes[0]['model']}: {output.report}")
