"""`wherewhat heads`: profile every head of a model on some texts."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wherewhat.cli.clock import seconds
from wherewhat.cli.groups import ADVANCED, MEASURE, grouped, option
from wherewhat.cli.options import InputOptions, Model, ModelOptions, OutputOptions, ScoreOptions, TextOptions
from wherewhat.cli.parse import parse_count, parse_names, parse_numbers
from wherewhat.formatting import count
from wherewhat.progress import first_part, progress

if TYPE_CHECKING:
    from wherewhat.runs.registry import Profile


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """Which heads are profiled, how their logits are swapped, and which baseline and hidden states are measured."""

    hidden: Annotated[
        bool | None,
        option(
            MEASURE,
            None,
            "Look for position inside hidden states (default: if logits are position-free).",
            "--hidden/--no-hidden",
        ),
    ] = None
    untrained: Annotated[
        bool | None,
        option(
            MEASURE,
            None,
            "Also profile untrained weights as a baseline (default: unless the model is large).",
            "--untrained/--no-untrained",
        ),
    ] = None
    layers: Annotated[str | None, option(MEASURE, "NUMBERS", "Only these layers, such as 0,3-5.")] = None
    heads: Annotated[str | None, option(MEASURE, "NAMES", "Only these heads: L0H1,L2H3, or 'decoder L0H1'.")] = None
    logit_rows: Annotated[
        str, option(ADVANCED, "N|all", "Of the query rows, how many have their logits decomposed and swapped.")
    ] = "8"
    max_swaps: Annotated[
        str, option(ADVANCED, "N|all", "Swaps per row to compute one by one; beyond that, a sample.")
    ] = "16384"
    blocks: Annotated[
        str | None,
        option(ADVANCED, "sentence|line|FILE", "Also swap whole blocks; FILE has [[from, to], ...] per text."),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """As fields of `ProfileSettings`."""
        return {
            "layers": parse_numbers(self.layers, "--layers"),
            "heads": parse_names(self.heads, "--heads"),
            "hidden": self.hidden,
            "untrained": self.untrained,
            "logit_rows": parse_count(self.logit_rows, "--logit-rows", "all"),
            "max_swaps": parse_count(self.max_swaps, "--max-swaps", "all"),
        }


@grouped
def heads(
    model: Model = "tiny",
    *,
    loading: ModelOptions = ModelOptions(),
    texts: TextOptions = TextOptions(),
    inputs: InputOptions = InputOptions(),
    selection: HeadOptions = HeadOptions(),
    scoring: ScoreOptions = ScoreOptions(),
    output: OutputOptions = OutputOptions(out=Path("runs/heads")),
) -> None:
    """Profile every head: where it looks, and whether by position or by content, as tables and one page.

    Try: `wherewhat heads` · `wherewhat heads gpt2 --text book.txt --out runs/gpt2`
    """
    settings = scoring.settings | selection.settings
    output.begin(model, "heads")
    load_settings = loading.settings(model)
    from wherewhat.profiling.profile import profile

    settings |= {"max_texts": texts.max_texts, "max_tokens": texts.max_tokens, "add_bos": texts.add_bos}
    settings |= {"blocks": _blocks(selection.blocks), **inputs.settings(scoring.seed)}
    with progress(model, quiet=output.quiet, announced=True) as step:
        run = profile(
            model,
            texts.read(),
            loading=load_settings,
            on_step=first_part(step, of_whole=0.95),
            say=output.say,
            source=texts.origin,
            **settings,
        )
        step(95, 100, "drawing")
        output.write(run)
    _print(run, output)


def _blocks(text: str | None) -> list[list[list[int]]] | str | None:
    """Read --blocks: the name of a way to cut texts, or a file that says where."""
    from wherewhat.capture.tokens.blocks import ENDINGS
    from wherewhat.tables.texts import read_blocks

    return text if text is None or text in ENDINGS or not Path(text).exists() else read_blocks(Path(text))


def _print(profile: "Profile", output: OutputOptions) -> None:
    model, texts, positional = profile.manifest.model, profile.manifest.texts, profile.manifest.positional
    if output.as_json:
        summary: dict[str, Any] = {"out": str(output.out), "report": str(output.report)}
        summary |= {"heads_table": str(output.out / "heads.parquet"), "model": model.id, "heads": model.heads}
        summary |= {"texts": texts.count}
        summary |= {"positional": {"n": positional.n, "words": positional.words}} if positional else {}
        print(json.dumps({**summary, "findings": profile.findings(), "seconds": seconds()}, ensure_ascii=False))
    elif not output.quiet:
        windows = f" cut into {count(texts.windows, 'window')}" if texts.windows != texts.count else ""
        copies = f", {count(positional.words, 'word')} × {positional.n} copies" if positional else ""
        print(
            f"{count(model.heads, 'head')} of {model.id} on {count(texts.count, 'text')}{windows}, "
            f"{count(texts.tokens, 'token')}, {seconds():.1f} s{copies}: {output.report}"
        )
        for sentence in profile.findings():
            print(f"  {sentence}")
