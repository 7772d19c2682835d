"""`wherewhat attribute`: which tokens and which positions of a text an output of a model is made of."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wherewhat.cli.clock import seconds
from wherewhat.cli.groups import ADVANCED, TEXTS, grouped, option
from wherewhat.cli.options import Model, ModelOptions, OutputOptions, Seed, texts_from
from wherewhat.cli.parse import parse_names, parse_text_or_words
from wherewhat.errors import UserError
from wherewhat.progress import progress

if TYPE_CHECKING:
    from wherewhat.attribution.attribute_texts import AttributionSettings
    from wherewhat.attribution.evaluation.settings import EvaluationSettings
    from wherewhat.runs.registry import AttributionRun
    from wherewhat.tables.texts import Origin, Text

EXPLAIN = "What to explain"  # the panel of its own options
EVALUATE = "Compare methods"
NAMED = 5  # outputs that the line on the terminal names


@dataclass(frozen=True, kw_only=True)
class ExplainedOptions:
    """Which outputs are explained, and by which methods."""

    target: Annotated[
        list[str],
        option(
            EXPLAIN,
            "next|label|mask|NAME|id:N",
            "What it predicts (default), or a token or label. Several tokens are explained one by one. Repeatable.",
        ),
    ] = field(default_factory=list)
    continuation: Annotated[
        str | None, option(EXPLAIN, "TEXT", "Explain every token of these words after the text, one by one.")
    ] = None
    method: Annotated[
        str,
        option(EXPLAIN, "NAMES", "pa-lrp, attnlrp, cp-lrp, input-x-gradient, rollout or random; several with commas."),
    ] = "pa-lrp"
    aggregate: Annotated[
        str,
        option(EXPLAIN, "signed|absolute|positive|position", "How a token and its position become one number."),
    ] = "signed"
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Whether methods are compared, and how tokens are ordered and taken away."""

    evaluate: Annotated[
        bool,
        option(
            EVALUATE,
            None,
            "Compare all methods: how the output changes as tokens are taken away in their order, and whether they "
            "find the tokens that are known to decide.",
            "--evaluate",
        ),
    ] = False
    order: Annotated[
        str | None, option(EVALUATE, "signed|published", "How scores become an order (default: signed).")
    ] = None
    replace: Annotated[
        str | None, option(EVALUATE, "token|delete", "Replace a token in its place (default), or leave it out.")
    ] = None

    def settings(self, *, max_texts: int, seed: int) -> "EvaluationSettings | None":
        """The evaluation that these options describe; None if there is none."""
        if not self.evaluate:
            for name, value in (("order", self.order), ("replace", self.replace)):
                if value is not None:
                    raise UserError(f"--{name} is for the comparison of methods; add --evaluate, or leave it out")
            return None
        from wherewhat.attribution.evaluation.settings import EvaluationSettings

        order, way = self.order or "signed", self.replace or "token"
        return EvaluationSettings(order=order, replace=way, max_texts=max_texts, seed=seed)


@dataclass(frozen=True, kw_only=True)
class ExplainedTextOptions:
    """Which texts are read: typed, or as other commands read them."""

    text: Annotated[
        list[str],
        option(
            TEXTS,
            "TEXT|FILE|NAME",
            "The text itself; or a file (one text per line, prose, .jsonl), or a built-in text. A tab separates two "
            "texts that a classifier reads together. Repeatable.",
        ),
    ] = field(default_factory=list)
    dataset: Annotated[str | None, option(TEXTS, "NAME", "A dataset on the Hub, as NAME or NAME:CONFIG.")] = None
    max_texts: Annotated[int, option(TEXTS, "N", "Explain at most N texts or windows.")] = 10
    max_tokens: Annotated[
        int | None, option(TEXTS, "N", "Cut texts into windows of N tokens (default: a text must fit the model).")
    ] = None
    column: Annotated[str, option(ADVANCED, "NAME", "The column of .jsonl files and datasets to read.")] = "text"
    split: Annotated[str, option(ADVANCED, "NAME", "The split of the dataset to read.")] = "test"
    add_bos: Annotated[
        bool, option(ADVANCED, None, "Prepend the beginning-of-text token if the tokenizer does not.", "--add-bos")
    ] = False

    def read(self) -> "Iterator[Text] | None":
        """The texts; None if none are named: then a net reads examples of its own task."""
        files, typed = self._files_and_texts()
        if typed and self.dataset:
            raise UserError("both --text and --dataset were given; choose one of them")
        rest = texts_from(files, dataset=self.dataset, split=self.split, column=self.column)
        return _chained(typed, rest) if typed or rest is not None else None

    @property
    def origin(self) -> "Origin":
        """Where the texts come from, for the manifest."""
        from wherewhat.tables.texts import Origin

        files, typed = self._files_and_texts()
        origin = Origin.of(files, column=self.column, dataset=self.dataset, split=self.split)
        return origin if not typed else Origin(", ".join(filter(None, ("--text", origin.source))), origin.files)

    def _files_and_texts(self) -> "tuple[list[Path], list[Text]]":
        given = [parse_text_or_words(value) for value in self.text]
        files = [value for value in given if isinstance(value, Path)]
        return files, [value for value in given if not isinstance(value, Path)]


def _chained(typed: "list[Text]", rest: "Iterator[Text] | None") -> "Iterator[Text]":
    yield from typed
    yield from rest or ()


@grouped
def attribute(
    model: Model = "tiny",
    *,
    explained: ExplainedOptions = ExplainedOptions(),
    comparison: EvaluationOptions = EvaluationOptions(),
    loading: ModelOptions = ModelOptions(),
    texts: ExplainedTextOptions = ExplainedTextOptions(),
    output: OutputOptions = OutputOptions(out=Path("runs/attribute")),
) -> None:
    """Explain an output: the relevance of every token and of every position, as a table and one page.

    A language model explains its next token, a classifier its label, a masked model the token in place of its mask,
    and a net trained on a task its answer. Relevance is passed back through the model by rules that keep its sum
    (layer-wise relevance propagation), with positions as inputs of their own.

    Try: `wherewhat attribute gpt2 --text "The cat sat on the"` ·
    `wherewhat attribute gpt2 --text "The cat sat on" --continuation "the mat" --method pa-lrp,attnlrp` ·
    `wherewhat attribute bert --text "Paris is the [MASK] of France."` ·
    `wherewhat attribute --evaluate --max-texts 100`
    """
    output.begin(f"{model}: attribute", "attribute")
    given, origin = texts.read(), texts.origin
    load_settings = loading.settings(model)
    settings = settings_of(explained, texts, comparison)
    from wherewhat.attribution.attribute_texts import attribute_texts

    with progress(f"{model}: attribute", quiet=output.quiet, announced=True) as step:
        run = attribute_texts(model, given, settings, loading=load_settings, on_step=step, source=origin)
    say = output.say or (lambda sentence: None)
    for sentence in run.manifest.notes:
        say(sentence)
    output.write(run)
    _print(run, output)


def settings_of(
    explained: ExplainedOptions, texts: ExplainedTextOptions, comparison: EvaluationOptions
) -> "AttributionSettings":
    """What these options describe."""
    from wherewhat.attribution.attribute_texts import AttributionSettings

    return AttributionSettings(
        targets=tuple(explained.target),
        continuation=explained.continuation,
        methods=parse_names(explained.method, "--method"),
        aggregate=explained.aggregate,
        max_texts=texts.max_texts,
        max_tokens=texts.max_tokens,
        add_bos=texts.add_bos,
        seed=explained.seed,
        evaluation=comparison.settings(max_texts=texts.max_texts, seed=explained.seed),
    )


def _print(run: "AttributionRun", output: OutputOptions) -> None:
    manifest = run.manifest
    if output.as_json:
        plain = manifest.to_dict()
        summary: dict[str, Any] = {"out": str(output.out), "report": str(output.report), "model": manifest.model.id}
        summary |= {name: plain[name] for name in ("outputs", "aggregate", "ledgers", "notes")}
        if not run.evaluation.is_empty():
            summary["evaluation"] = run.evaluation.to_dicts()
        print(json.dumps({**summary, "findings": run.findings, "seconds": seconds()}, ensure_ascii=False))
    elif not output.quiet:
        outputs = len(manifest.outputs)
        more = [f"and {outputs - NAMED} more outputs, on the page"] if outputs > NAMED else []
        for sentence in (*run.findings[:outputs][:NAMED], *more, *run.findings[outputs:]):
            print(sentence)
        print(output.report)
