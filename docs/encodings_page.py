"""Make docs/encodings.md: what to know of every encoding, what it costs, and what it does before any content."""

import inspect
import json
import re
import statistics
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import torch
from torch import Tensor

from wherewhat.encodings import bands
from wherewhat.encodings.base import Context, Encoding
from wherewhat.encodings.registry import ENCODINGS, choices_of, encoding_for
from wherewhat.encodings.scalings import SCALINGS
from wherewhat.nets.attention import attend, attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.report.core.palette import LIGHT

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "benchmarks" / "encodings.json"
PAGE = ROOT / "docs" / "encodings.md"
PICTURES = ROOT / "docs" / "encodings"
TOKENS, SEEDS, REACH = 32, 16, 8  # the far ends of the colours: eight times more, or less, than evenly
Measured = dict[str, dict[str, Any]]
CONDITIONS = (
    "Measured side by side with `none` in a small decoder ({layers} layers of {heads} heads, width {width}, "
    "{tokens:,} tokens per batch, float32, {threads} threads, PyTorch {torch}), with subnormal numbers flushed to 0, "
    "as in `wherewhat train`: tokens per second relative to `none`, median of {repeats} with the worst and the best. "
    "Peak memory is that of the whole process at n = 2,048 on one thread; parameters are those of the whole net for "
    "texts of that length."
)
# Options under which an encoding shows on a short text what it does; the others are drawn with those they have.
SHOWN: dict[str, dict[str, Any]] = {
    "attenuated": {"inject": "log", "w": 0.02},
    "leaning": {"w": 0.02},
    "p_rope": {"p": 0.25},
    "band_rope": {"angle": 0.4},
    "xpos": {"span": 8.0},
    "untwist": {"high": 0.1, "low": 2.0},
    "shaw": {"clip": 8},
    "cope": {"positions": 16},
}
# Initialised close to zero without a preferred direction: one head, its parameters perturbed by so much.
MOVED = {
    "t5_bias": 1.0,
    "toeplitz": 1.0,
    "fire": 1.0,
    "shaw": 0.5,
    "transformer_xl": 0.15,
    "deberta": 0.15,
    "cope": 0.7,
    "urpe": 0.6,
}
GENERATED = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)


def page(text: str) -> str:
    """The page with its generated parts made anew from the registry and the measured figures."""
    parts = {
        "costs": costs(json.loads(MEASURED.read_text())),
        "scalings": scalings(),
        "bands": "\n".join(line for line in (bands.__doc__ or "").splitlines() if line.startswith(("|", "Several"))),
        "encodings": "\n".join(map(section, ENCODINGS)),
    }
    return GENERATED.sub(lambda found: f"{found[1]}{parts[found[2]]}\n{found[3]}", text)


def costs(measured: Measured) -> str:
    """How it was measured, and the table; speeds are tokens a second, those of `none` being 1."""
    columns = ["encoding", "parameters", "forward 512", "forward 2,048", "training 512", "training 2,048"]
    columns += ["peak MiB forward", "peak MiB training"]
    lines = [CONDITIONS.format(**measured["conditions"]), "", f"| {' | '.join(columns)} |"]
    lines.append(f"|---|{'--:|' * (len(columns) - 1)}")
    for name in ENCODINGS:
        row = measured["encodings"][name]
        speeds = [_speed(row[f"{kind} {length}"]) for kind in ("forward", "training") for length in (512, 2048)]
        peaks = [f"{row[f'{kind} bytes'] / 2**20:,.0f}" for kind in ("forward", "training")]
        lines.append(f"| [{name}](#{name}) | {row['parameters']:,} | {' | '.join(speeds + peaks)} |")
    return "\n".join(lines)


def scalings() -> str:
    """Every scaling, its options with their defaults, and what it does."""
    lines = ["| kind | options | what it does |", "|---|---|---|"]
    for kind, scaling in SCALINGS.items():
        options = [each.name if each.default is MISSING else f"{each.name}={each.default}" for each in fields(scaling)]
        idea = (inspect.getdoc(scaling) or "").split("\n\n")[0].replace("\n", " ")
        lines.append(f"| {kind} | {', '.join(f'`{option}`' for option in options)} | {idea} |")
    return "\n".join(lines)


def _speed(ratios: list[float]) -> str:
    """Tokens a second beside no position: the median, and from worst to best."""
    quick = sorted(1 / ratio for ratio in ratios)
    return f"{statistics.median(quick):.2f} ({quick[0]:.2f}–{quick[-1]:.2f})"


def section(name: str) -> str:
    """Everything about one encoding."""
    record = ENCODINGS[name]
    idea = (inspect.getdoc(record.cls) or "").split(">>>")[0].strip()
    facts = {
        "acts": record.acts,
        "learns": record.parameters,
        "direction": record.direction,
        "attention": record.kernel,
        "growth": record.growth,
        "paper": record.paper,
    }
    listed = "\n".join(f"- **{fact}**: {value}" for fact, value in facts.items())
    if record.options:
        told = "".join(
            f"\n  - `{option}={value}`: {record.options[option]}" for option, value in choices_of(name).items()
        )
        listed += f"\n- **options**:{told}"
    picture = f"![Attention of {name} on identical tokens](encodings/{name}.png)"
    return f"### {name}\n\n{idea}\n\n{listed}\n\n{picture}\n\n{caption(name)}\n"


def caption(name: str) -> str:
    """How the picture of an encoding was drawn."""
    with_ = "".join(f", `{option}={value}`" for option, value in SHOWN.get(name, {}).items())
    if name in MOVED:
        return f"*One head{with_}, its parameters perturbed by N(0, {MOVED[name]:g}²): initialised close to zero.*"
    return f"*Mean of untrained heads{with_}.*"


def pictures() -> None:
    """Draw every encoding's mean attention on identical tokens, together and one by one."""
    PICTURES.mkdir(exist_ok=True)
    causal = {name: table(name, "decoder") for name in ENCODINGS}
    frame = pl.concat([rows.with_columns(encoding=pl.lit(name)) for name, rows in causal.items()])
    frame = frame.with_columns(pl.col("encoding").replace({name: f"{name} *" for name in MOVED}))
    labels = [f"{name} *" if name in MOVED else name for name in ENCODINGS]
    names = alt.Header(labelColor=LIGHT.ink, labelFontSize=13)
    together = squares(frame, size=4 * TOKENS, key=True).facet(
        alt.Facet("encoding", sort=labels, title=None, header=names), columns=7, spacing=14
    )
    save(together, PICTURES / "overview.png")
    for name, rows in causal.items():
        panels = [squares(rows, size=6 * TOKENS).properties(title="causal")]
        if not _encoding(name).causal_only:
            panels.append(squares(table(name, "encoder"), size=6 * TOKENS).properties(title="both ways"))
        save(alt.hconcat(*panels), PICTURES / f"{name}.png")


def table(name: str, kind: str) -> pl.DataFrame:
    """Query, key and how many times more than evenly it is attended to, as a fresh net starts: mean of many heads."""
    seen = [_attention(name, kind, seed) for seed in range(1 if name in MOVED else SEEDS)]
    allowed_QK = Context.of(TOKENS, causal=kind == "decoder").allowed_BHQK[0, 0]
    ratio_QK = torch.stack(seen).mean(0) * allowed_QK.sum(-1, keepdim=True)
    query_N, key_N = allowed_QK.nonzero().unbind(-1)
    folds_N = ratio_QK[query_N, key_N].clamp(1 / REACH, REACH).log2()
    return pl.DataFrame({"query": query_N.numpy(), "key": key_N.numpy(), "folds": folds_N.numpy()})


def _attention(name: str, kind: str, seed: int) -> Tensor:
    """attention_QK of a fresh layer that reads one token again and again; the mean of its heads.

    Every head looks for tokens like its own: its keys are its queries, of unit variance.
    """
    sizes = {"vocabulary": 2, "width": 128, "layers": 1, "heads": 8, "length": TOKENS}
    net = build(NetConfig(**sizes, kind=kind, encoding=name, encoding_options=SHOWN.get(name, {})), seed=seed)
    generator, seen = torch.Generator().manual_seed(seed), list[Tensor]()
    for parameter in net.encodings.parameters():
        parameter.data += MOVED.get(name, 0.0) * torch.randn(parameter.shape, generator=generator)

    def watch(encoding: Encoding, q_BHTC: Tensor, k_BHTC: Tensor, v_BHTC: Tensor, context: Context) -> Tensor:
        q_BHTC = q_BHTC * 3**0.5  # fresh projections have a variance of a third
        seen.append(attention_rows(encoding, q_BHTC, q_BHTC, context, torch.arange(TOKENS)))
        return attend(encoding, q_BHTC, k_BHTC, v_BHTC, context)

    net.blocks[0].attention.attend = watch
    with torch.no_grad():
        net(torch.zeros(1, TOKENS, dtype=torch.long))
    return seen[0][0, 0] if name in MOVED else seen[0][0].mean(0)


def squares(rows: pl.DataFrame, *, size: int, key: bool = False) -> alt.Chart:
    """Query by key; blue is less than evenly, orange more; with or without the key of the colours."""
    scale = alt.Scale(domain=[-3, -2, -1, 0, 1, 2, 3], range=list(LIGHT.chance), clamp=True, interpolate="rgb")
    words = "datum.value == 0 ? 'even' : datum.value < 0 ? '1/' + pow(2, -datum.value) : pow(2, datum.value) + ' ×'"
    shown = {"orient": "bottom", "direction": "horizontal", "gradientLength": 240, "labelExpr": words}
    legend = alt.Legend(
        title="attention beside an even share", titleLimit=300, values=[-3, -2, -1, 0, 1, 2, 3], **shown
    )
    colour = alt.Color("folds:Q", legend=legend if key else None, scale=scale)
    axis = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    place = {
        "x": alt.X("key:O", axis=axis, scale=alt.Scale(padding=0)),
        "y": alt.Y("query:O", axis=axis, scale=alt.Scale(padding=0)),
    }
    return alt.Chart(rows).mark_rect().encode(**place, color=colour).properties(width=size, height=size)


def save(chart: alt.TopLevelMixin, path: Path) -> None:
    """As a picture on white."""
    chart.configure_view(stroke=LIGHT.line).configure_title(
        color=LIGHT.muted, fontSize=12, fontWeight="normal"
    ).configure(background="#ffffff", font="sans-serif").save(path, scale_factor=1)


def _encoding(name: str) -> Encoding:
    return encoding_for(NetConfig(vocabulary=2, width=64, layers=1, heads=4).shape, name, {})
