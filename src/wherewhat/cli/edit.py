"""`wherewhat edit`: change position inside a model, and measure what that does."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wherewhat.cli.clock import seconds
from wherewhat.cli.groups import MEASURE, grouped, option
from wherewhat.cli.options import Model, ModelOptions, OutputOptions, ScoreOptions, TextOptions
from wherewhat.cli.parse import parse_names, parse_numbers
from wherewhat.errors import UserError
from wherewhat.progress import progress

if TYPE_CHECKING:
    from wherewhat.editing.plan import Edit
    from wherewhat.runs.registry import EditEffect

EDIT = "Edit"  # the panel of its own options
Bands = list[str]


@dataclass(frozen=True, kw_only=True)
class EditOptions:
    """What is changed inside the model."""

    drop: Annotated[Bands, option(EDIT, "BAND", "Remove these frequencies from the dot product. Repeatable.")] = field(
        default_factory=list
    )
    unrotate: Annotated[Bands, option(EDIT, "BAND", "Keep them but stop their rotation. Repeatable.")] = field(
        default_factory=list
    )
    keep: Annotated[Bands, option(EDIT, "BAND", "Remove all other frequencies. Repeatable.")] = field(
        default_factory=list
    )
    scale: Annotated[
        Bands, option(EDIT, "BAND=FACTOR", "Multiply their share of the logits; =FROM..TO^BETA for a ramp.")
    ] = field(default_factory=list)
    ablate: Annotated[str | None, option(EDIT, "NAMES", "Set the output of these heads to 0, such as L3H7.")] = None
    heads: Annotated[str | None, option(EDIT, "NAMES", "Change frequencies in these heads only.")] = None
    layers: Annotated[str | None, option(EDIT, "NUMBERS", "Change frequencies in these layers only.")] = None
    each: Annotated[
        str | None,
        option(EDIT, "head|band", "Also edit each head or band alone (by default: ablate heads, drop bands)."),
    ] = None
    random: Annotated[
        int, option(MEASURE, "N", "Sequences of repeated random tokens to measure copying on; 0 for none.")
    ] = 32

    @property
    def edit(self) -> "Edit":
        """The edit that these options describe."""
        from wherewhat.editing.plan import Edit

        bands: dict[str, Any] = {"drop": self.drop, "unrotate": self.unrotate, "keep": self.keep, "scale": self.scale}
        return Edit(
            **bands,
            ablate=parse_names(self.ablate, "--ablate"),
            heads=parse_names(self.heads, "--heads"),
            layers=parse_numbers(self.layers, "--layers"),
        )


@grouped
def edit(
    model: Model = "tiny",
    *,
    change: EditOptions = EditOptions(),
    loading: ModelOptions = ModelOptions(),
    texts: TextOptions = TextOptions(),
    scoring: ScoreOptions = ScoreOptions(),
    output: OutputOptions = OutputOptions(out=Path("runs/edit")),
) -> None:
    """Change how a model uses position: loss, copying and heads before and after, as tables and one page.

    A BAND is `high:0.25`, `low:0.25`, `index:0,3-5`, `angle:0.01..1`, `wavelength:8..64` or `all`; `+` joins several.

    Try: `wherewhat edit --unrotate high:0.25` · `wherewhat edit MODEL --each head --text book.txt`
    """
    output.begin(f"{model}: edit", "edit")
    if change.random < 0:
        raise UserError(f"--random is {change.random}; give a number of sequences, 0 for none")
    settings = scoring.settings
    settings |= {"max_texts": texts.max_texts, "max_tokens": texts.max_tokens, "add_bos": texts.add_bos}
    wanted, load_settings = change.edit, loading.settings(model)
    from wherewhat.editing.measure_edit import measure_edit

    with progress(f"{model}: edit", quiet=output.quiet, announced=True) as step:
        run = measure_edit(
            model,
            texts.read(),
            wanted,
            each=change.each,
            random=change.random,
            loading=load_settings,
            on_step=step,
            say=output.say,
            source=texts.dataset or ", ".join(map(str, texts.text)),
            **settings,
        )
    output.write(run)
    _print(run, output)


def _print(run: "EditEffect", output: OutputOptions) -> None:
    model, strongest = run.manifest.model, run.strongest
    if output.as_json:
        summary: dict[str, Any] = {"out": str(output.out), "report": str(output.report), "model": model.id}
        summary |= {"edit": run.manifest.edit.description, "heads": model.heads, "texts": run.manifest.texts.count}
        print(json.dumps({**summary, **run.whole, "strongest": strongest, "seconds": seconds()}))
    elif not output.quiet:
        phrases = [_before_and_after(name, states) for name, states in run.whole.items() if name != "induction"]
        phrases += [f"largest change: {strongest['edit']} ({strongest['value']:+.3f})"] if strongest else []
        print("; ".join([*phrases, f"{model.heads} heads", str(output.report)]))


def _before_and_after(name: str, states: dict[str, dict[str, float | None]]) -> str:
    """One measure in a few words: before, after and, for the loss, the change."""
    digits = 3 if name == "loss" else 2
    values = {state: estimate["value"] for state, estimate in states.items()}
    phrase = " → ".join(f"{values[state]:.{digits}f}" for state in ("before", "after") if state in values)
    if name != "loss" or "change" not in states:
        return f"{name} {phrase}"
    low, high = states["change"]["low"], states["change"]["high"]
    spread = "" if low is None or high is None else f", {low:.3f} to {high:.3f}"
    return f"{name} {phrase} ({values['change']:+.3f}{spread})"
