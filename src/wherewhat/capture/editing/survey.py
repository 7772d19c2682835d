"""Look a model over before it is edited: every attention it has, its heads, and the frequencies that turn there."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor, nn

from wherewhat.capture.capture import capture, first_device
from wherewhat.capture.decompose.own_nets import Call, rotations_of
from wherewhat.capture.decompose.rotation import Rotation
from wherewhat.capture.editing.own_nets import attentions
from wherewhat.capture.hooks.reader import AttentionSite, Seen, numbered
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import Batch
from wherewhat.encodings.base import Context
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

TOKENS = 64  # enough to measure how fast a pair turns as exactly as a model stores it
SPECIAL = ("pad", "bos", "eos", "cls", "sep", "mask", "unk", "decoder_start")


@dataclass(frozen=True, eq=False)
class Layer:
    """One attention of a model."""

    number: int  # as in L3H7
    module: str  # its name among the model's modules
    part: str  # encoder, decoder or cross
    heads: int
    theta_F: Tensor | None  # radians a token, of the pairs that turn; None where nothing turns
    rotations: tuple[Rotation, Rotation] | None = field(default=None, repr=False)  # of queries and of keys
    sliced: int = 0  # channels beside the rotated ones that join them after the rotation
    groups: int = 0  # how many keys its heads share; those of a group follow each other
    instead: str = ""  # where nothing turns, what is known of its position, as half a sentence
    unknown: bool = False  # it could not be told whether anything turns


def survey(model: nn.Module) -> tuple[Layer, ...]:
    """Every attention of a model in the order of their numbers, found by reading a few tokens."""
    seen: dict[AttentionSite, Seen] = {}

    def note(piece: Seen) -> None:
        seen.setdefault(piece.site, piece)

    with capture(model, note) as captured, _counting(model) as calls:
        turning = captured.keep_rotations()
        captured.read(_few_tokens(model))
        rotations = {site: (rotation, rotation) for site, rotation in turning.items()}
    _refuse_several(model, Counter(site.module for site in seen), calls)
    if isinstance(model, Trunk):
        rotations = _of_net(model, seen)
    return tuple(
        replace(
            _layer(number, seen[site], rotations.get(site), _instead(model, seen[site], captured.opaque.get(site))),
            unknown=site in captured.opaque,
        )
        for site, number in numbered(captured.sites).items()
    )


@contextmanager
def _counting(model: nn.Module) -> Iterator[Counter[str]]:
    """How often each module is called."""
    calls: Counter[str] = Counter()
    with ExitStack() as put_back:
        for name, module in model.named_modules():
            count = partial(_count, calls, name)
            put_back.callback(module.register_forward_pre_hook(count).remove)
        yield calls


def _count(calls: Counter[str], name: str, module: nn.Module, args: object) -> None:
    calls[name] += 1


def _refuse_several(model: nn.Module, attentions: Counter[str], calls: Counter[str]) -> None:
    """A module that attends twice in one call has no heads that could be told apart by what it is doing."""
    for name, count in attentions.items():
        if count > calls[name]:
            raise UserError(f"{name} of {type(model).__name__} attends more than once in a layer; it cannot be edited")


def _layer(number: int, seen: Seen, rotations: tuple[Rotation, Rotation] | None, instead: str) -> Layer:
    site, heads = seen.site, len(seen.attention_HQK)
    rotary = None if seen.logits is None else seen.logits.rotary
    if rotations is None or rotary is None:
        return Layer(number, site.module, site.part, heads, None, instead=instead)
    pairs = rotations[1].pairs
    theta_F, sliced = rotations[1].theta_F[: pairs.count].abs(), 2 * rotary.theta_F.shape[0] - pairs.channels
    return Layer(number, site.module, site.part, heads, theta_F, rotations, sliced, len(rotary.key_GKF))


def _instead(model: nn.Module, seen: Seen, opaque: str | None) -> str:
    """What to say of an attention in which no frequency can be found."""
    if isinstance(model, Trunk):
        return f"the encoding is {model.config.called}"
    if opaque is not None or seen.logits is None:
        return f"it cannot be told how ({opaque})"
    if seen.logits.absorbed:
        return "position, if any, comes in with the hidden state"
    return "slots have a say in the logits by other means"


def _few_tokens(module: nn.Module) -> Batch:
    """A text that any model can read: ordinary tokens, as many as tell, or as the model holds."""
    model = LoadedModel("", module)
    tokens = max(2, min(TOKENS, model.context or TOKENS))
    config = getattr(module, "config", None)
    special = {getattr(config, f"{name}_token_id", None) for name in SPECIAL}
    ordinary = [id for id in range(min(model.vocabulary, 4 * TOKENS)) if id not in special] or [0]
    ids_T = torch.tensor(ordinary)[torch.arange(tokens) % len(ordinary)]
    rows_Q = torch.tensor([0, tokens // 2, tokens - 1]).unique()
    return Batch((0,), ids_T[None], torch.ones(1, tokens, dtype=torch.bool), (rows_Q,))


def _of_net(net: Trunk, seen: dict[AttentionSite, Seen]) -> dict[AttentionSite, tuple[Rotation, Rotation]]:
    """How a net of ours turns, asked of its encodings themselves."""
    found = {}
    blocks = {name: block for block, (name, _) in enumerate(attentions(net))}
    for site, piece in seen.items():
        if piece.logits is None or piece.logits.rotary is None:
            continue
        encoding = net.encoding(blocks[site.module])
        tokens = min(TOKENS, encoding.max_length or TOKENS)
        weight = net.head.weight
        noise_BHTC = torch.randn(
            (1, net.config.heads, tokens, net.config.shape.head_dim), generator=torch.Generator().manual_seed(0)
        ).to(first_device(net), weight.dtype)
        context = Context.of(tokens, causal=net.config.causal, device=noise_BHTC.device)
        rotations = rotations_of(Call(encoding.name, encoding, noise_BHTC, noise_BHTC, context).exact)
        if rotations is not None:
            found[site] = rotations
    return found
