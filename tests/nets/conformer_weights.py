"""The weights of one conformer layer of transformers, under the names that they have in a block of ours."""

from collections.abc import Mapping

import torch
from torch import Tensor

MODULES = {
    "first.0": "ffn1_layer_norm",
    "first.1": "ffn1.intermediate_dense",
    "first.3": "ffn1.output_dense",
    "attention_norm": "self_attn_layer_norm",
    "attention.out": "self_attn.linear_out",
    "convolution.norm": "conv_module.layer_norm",
    "convolution.near": "conv_module.depthwise_conv",
    "convolution.batch_norm": "conv_module.batch_norm",
    "second.0": "ffn2_layer_norm",
    "second.1": "ffn2.intermediate_dense",
    "second.3": "ffn2.output_dense",
    "norm": "final_layer_norm",
}
POINTWISE = {"convolution.gate": "conv_module.pointwise_conv1", "convolution.out": "conv_module.pointwise_conv2"}


def block_weights(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What `load_state_dict` of a block of ours wants; what belongs to the encoding is left out."""
    ours = {
        f"{our}.{name.rpartition('.')[2]}": weight
        for our, their in MODULES.items()
        for name, weight in theirs.items()
        if name.rpartition(".")[0] == their
    }
    ours |= {f"{our}.weight": theirs[f"{their}.weight"].squeeze(-1) for our, their in POINTWISE.items()}
    for part in ("weight", "bias"):
        ours[f"attention.qkv.{part}"] = torch.cat([theirs[f"self_attn.linear_{each}.{part}"] for each in "qkv"])
    ours.setdefault("convolution.batch_norm.num_batches_tracked", torch.tensor(0))
    return ours
