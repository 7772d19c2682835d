"""Tiny random models of every family that must be capturable. The table in docs/families.md is made from this list."""

from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel

VOCABULARY = 99
HEADS = 4


@dataclass(frozen=True)
class Family:
    """One model family: how to build it small, and what is peculiar about it."""

    name: str  # transformers' model_type
    config: str  # the name of its config class
    model: str  # the name of its bare model class
    position: str  # how it encodes position, for the table
    route: str  # "interface" or "softmax"
    sizes: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=lambda: {"decoder": 2})
    spread: float = 0.3  # standard deviation of the weights

    def build(self, seed: int = 0, **more: Any) -> PreTrainedModel:
        """The model with random weights, larger than the usual start so that attention is far from uniform."""
        sizes = {key: value for key, value in {**COMMON, **self.sizes, **more}.items() if value is not None}
        config = getattr(transformers, self.config)(**sizes)
        model = getattr(transformers, self.model)._from_config(config)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, self.spread, generator=generator)
        return model.eval()


COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
ENCODER = {"encoder": 2}
BOTH = {"encoder": 2, "decoder": 2, "cross": 2}
GROUPED = {"num_key_value_heads": 2}
GPT_J = {"n_embd": 32, "n_layer": 2, "n_head": HEADS, "n_positions": 64, "n_inner": 48, "rotary_dim": 4}
GPT_2 = {"n_embd": 32, "n_layer": 2, "n_head": HEADS, "n_positions": 64}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2, "num_heads": HEADS}
BART = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
}
WINDOW = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
DEBERTA = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 16}

FAMILIES = [
    Family("llama", "LlamaConfig", "LlamaModel", "rotary", "interface", GROUPED),
    Family("gemma2", "Gemma2Config", "Gemma2Model", "rotary, soft cap, sliding window", "interface",
           {**GROUPED, **WINDOW, "head_dim": 8, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0}),
    Family("gemma3", "Gemma3TextConfig", "Gemma3TextModel", "rotary per layer type, sliding window", "interface",
           {**GROUPED, **WINDOW, "head_dim": 8, "query_pre_attn_scalar": 8}),
    Family("qwen2", "Qwen2Config", "Qwen2Model", "rotary", "interface", GROUPED),
    Family("qwen3", "Qwen3Config", "Qwen3Model", "rotary, query and key norms", "interface",
           {**GROUPED, "head_dim": 8}),
    Family("mistral", "MistralConfig", "MistralModel", "rotary, sliding window", "interface",
           {**GROUPED, "sliding_window": 5}),
    Family("phi", "PhiConfig", "PhiModel", "partial rotary", "interface", {"partial_rotary_factor": 0.5}),
    Family("phi3", "Phi3Config", "Phi3Model", "rotary", "interface", GROUPED),
    Family("olmo2", "Olmo2Config", "Olmo2Model", "rotary, query and key norms", "interface", GROUPED),
    Family("cohere", "CohereConfig", "CohereModel", "rotary, interleaved", "interface", GROUPED),
    Family("glm", "GlmConfig", "GlmModel", "partial rotary, interleaved", "interface",
           {**GROUPED, "head_dim": 8, "partial_rotary_factor": 0.5}),
    Family("stablelm", "StableLmConfig", "StableLmModel", "partial rotary", "interface",
           {**GROUPED, "partial_rotary_factor": 0.5}),
    Family("gpt_neox", "GPTNeoXConfig", "GPTNeoXModel", "partial rotary", "interface"),
    Family("smollm3", "SmolLM3Config", "SmolLM3Model", "rotary, some layers without", "interface",
           {**GROUPED, "no_rope_layers": [1, 0]}),
    Family("gpt2", "GPT2Config", "GPT2Model", "learned", "interface", GPT_2),
    Family("opt", "OPTConfig", "OPTModel", "learned", "interface", {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    Family("bert", "BertConfig", "BertModel", "learned", "interface", parts=ENCODER),
    Family("roberta", "RobertaConfig", "RobertaModel", "learned", "interface", {"pad_token_id": 1}, ENCODER),
    Family("albert", "AlbertConfig", "AlbertModel", "learned, one shared layer", "interface",
           {"embedding_size": 16, "num_hidden_layers": 3}, {"encoder": 3}),
    Family("electra", "ElectraConfig", "ElectraModel", "learned", "interface", {"embedding_size": 32}, ENCODER),
    Family("distilbert", "DistilBertConfig", "DistilBertModel", "learned", "interface",
           {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": HEADS}, ENCODER),
    Family("modernbert", "ModernBertConfig", "ModernBertModel", "rotary per layer type, sliding window", "interface",
           {"local_attention": 8, "global_attn_every_n_layers": 2, "num_hidden_layers": 3, "cls_token_id": 1,
            "sep_token_id": 2}, {"encoder": 3}),
    Family("nomic_bert", "NomicBertConfig", "NomicBertModel", "rotary", "interface", parts=ENCODER),
    Family("esm", "EsmConfig", "EsmModel", "rotary", "interface",
           {"position_embedding_type": "rotary", "pad_token_id": 1, "mask_token_id": 32}, ENCODER),
    Family("t5", "T5Config", "T5Model", "bucketed relative bias", "interface",
           {**T5, "decoder_start_token_id": 0}, BOTH, spread=0.15),
    Family("bart", "BartConfig", "BartModel", "learned", "interface", {**BART, "decoder_start_token_id": 2}, BOTH),
    Family("bloom", "BloomConfig", "BloomModel", "linear bias (ALiBi)", "softmax", {"n_layer": 2, "n_head": HEADS}),
    Family("mpt", "MptConfig", "MptModel", "linear bias (ALiBi)", "softmax",
           {"d_model": 32, "n_layers": 2, "n_heads": HEADS, "max_seq_len": 64}),
    Family("falcon", "FalconConfig", "FalconModel", "rotary or linear bias (ALiBi)", "softmax",
           {"alibi": False, "new_decoder_architecture": False, "multi_query": True}),
    Family("gptj", "GPTJConfig", "GPTJModel", "partial rotary, interleaved", "softmax", GPT_J),
    Family("xlnet", "XLNetConfig", "XLNetModel", "relative (Transformer-XL)", "softmax",
           {"d_model": 32, "n_layer": 2, "n_head": HEADS, "d_inner": 48,
            "max_position_embeddings": None}, ENCODER),
    Family("deberta", "DebertaConfig", "DebertaModel", "relative, disentangled", "softmax", DEBERTA, ENCODER),
    Family("deberta-v2", "DebertaV2Config", "DebertaV2Model", "relative, disentangled, log buckets", "softmax",
           {**DEBERTA, "position_buckets": 8, "share_att_key": True}, ENCODER),
]  # fmt: skip


def families_table() -> str:
    """The table of supported families."""
    routes: dict[str, str] = {"interface": "fused", "softmax": "the family's own"}
    lines = ["| family | position | where or what | attention kernel while profiled |", "|---|---|---|---|"]
    for family in FAMILIES:
        told = "inside the hidden state" if family.position.startswith("learned") else "exact, from its logits"
        lines.append(f"| {family.name} | {family.position} | {told} | {routes[family.route]} |")
    return "\n".join(lines)
