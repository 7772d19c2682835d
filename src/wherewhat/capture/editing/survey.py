"""List what can be edited in a model: every attention, its heads and its rotary frequencies."""

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from wherewhat.capture.capture import capture, first_device
from wherewhat.capture.decompose.own_nets import AttentionCall, rotations_of
from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.hooks.own_nets import attentions
from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite, numbered
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import Batch
from wherewhat.encodings.base import Context
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

TOKENS = 64  # enough to measure the frequency of a pair as exactly as a model stores it
SPECIAL = ("pad", "bos", "eos", "cls", "sep", "mask", "unk", "decoder_start")


@dataclass(frozen=True, eq=False)
class Layer:
    """One attention of a model."""

    number: int  # as in L3H7
    module: str  # its name among the model's modules
    part: str  # encoder, decoder or cross
    heads: int
    theta_F: Tensor | None  # radians per token of the rotated pairs; None where nothing is rotated
    rotations: tuple[Rotation, Rotation] | None = field(default=None, repr=False)  # of queries and of keys
    sliced: int = 0  # channels beside the rotated ones that join them after the rotation
    groups: int = 0  # key heads; query heads that share one are consecutive
    no_rotation_reason: str = ""  # where nothing is rotated, how position enters instead, as half a sentence
    unknown: bool = False  # whether anything is rotated could not be determined


def survey(model: nn.Module) -> tuple[Layer, ...]:
    """Every attention of a model in the order of their numbers, found by reading a few tokens."""
    first_rows: dict[AttentionSite, AttentionRows] = {}

    def note(rows: AttentionRows) -> None:
        first_rows.setdefault(rows.site, rows)

    calls: Counter[str] = Counter()  # how often each module is called
    with capture(model, note) as session, ExitStack() as cleanup:
        for name, module in model.named_modules():
            cleanup.callback(module.register_forward_pre_hook(lambda *_, name=name: calls.update([name])).remove)
        kept = session.keep_rotations()
        session.read(_few_tokens(model))
        rotations = {site: (rotation, rotation) for site, rotation in kept.items()}
    for name, count in Counter(site.module for site in first_rows).items():
        if count > calls[name]:  # its heads could not be told apart while it runs
            raise UserError(f"{name} of {type(model).__name__} attends more than once in a layer; it cannot be edited")
    if isinstance(model, Trunk):
        rotations = _rotations_of_net(model, first_rows)
    return tuple(
        _layer(model, number, first_rows[site], rotations.get(site), session.undecomposed.get(site))
        for site, number in numbered(session.sites).items()
    )


def _layer(
    model: nn.Module,
    number: int,
    rows: AttentionRows,
    rotations: tuple[Rotation, Rotation] | None,
    undecomposed: str | None,
) -> Layer:
    site, heads = rows.site, len(rows.attention_HQK)
    planes, unknown = None if rows.logits is None else rows.logits.planes, undecomposed is not None
    if rotations is None or planes is None:
        if isinstance(model, Trunk):
            reason = f"the encoding is {model.config.called}"
        elif undecomposed is not None or rows.logits is None:
            reason = f"position enters in a way that could not be determined ({undecomposed})"
        elif rows.logits.position_free:
            reason = "position, if any, comes in with the hidden state"
        else:
            reason = "position enters the logits by other means than rotation"
        return Layer(number, site.module, site.part, heads, None, no_rotation_reason=reason, unknown=unknown)
    pairs = rotations[1].pairs
    theta_F, sliced = rotations[1].theta_F[: pairs.count].abs(), 2 * planes.theta_BF[0].shape[0] - pairs.channels
    groups = len(planes.key_BGKF[0])
    return Layer(number, site.module, site.part, heads, theta_F, rotations, sliced, groups, unknown=unknown)


def _few_tokens(module: nn.Module) -> Batch:
    """A text that any model can read: ordinary tokens, TOKENS of them or as many as the model can hold."""
    model = LoadedModel("", module)
    tokens = max(2, min(TOKENS, model.context or TOKENS))
    config = getattr(module, "config", None)
    special = {getattr(config, f"{name}_token_id", None) for name in SPECIAL}
    ordinary = [id for id in range(min(model.vocabulary, 4 * TOKENS)) if id not in special] or [0]
    ids_T = torch.tensor(ordinary)[torch.arange(tokens) % len(ordinary)]
    rows_Q = torch.tensor([0, tokens // 2, tokens - 1]).unique()
    frames_BTG = _noise(module, tokens) if model.hears else None
    return Batch((0,), ids_T[None], torch.ones(1, tokens, dtype=torch.bool), (rows_Q,), frames_BTG=frames_BTG)


def _noise(net: nn.Module, tokens: int) -> Tensor:
    """frames_BTG of noise for a net that hears, the same every time."""
    assert isinstance(net, Trunk)
    generator = torch.Generator().manual_seed(0)
    return torch.randn(1, tokens, net.config.features, generator=generator).to(next(net.parameters()))


def _rotations_of_net(
    net: Trunk, first_rows: dict[AttentionSite, AttentionRows]
) -> dict[AttentionSite, tuple[Rotation, Rotation]]:
    """How a wherewhat net rotates queries and keys, measured on its encodings."""
    by_site = {}
    blocks = {name: block for block, (name, _) in enumerate(attentions(net))}
    for site, rows in first_rows.items():
        if rows.logits is None or rows.logits.planes is None:
            continue
        encoding = net.encoding(blocks[site.module])
        tokens = min(TOKENS, encoding.max_length or TOKENS)
        weight = net.head.weight
        noise_BHTC = torch.randn(
            (1, net.config.heads, tokens, net.config.shape.head_dim), generator=torch.Generator().manual_seed(0)
        ).to(first_device(net), weight.dtype)
        context = Context.of(tokens, causal=net.config.causal, device=noise_BHTC.device)
        rotations = rotations_of(AttentionCall(encoding.name, encoding, noise_BHTC, noise_BHTC, context).exact)
        if rotations is not None:
            by_site[site] = rotations
    return by_site
