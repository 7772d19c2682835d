"""The positional part of families of transformers, worked out in float64 straight from their weights."""

import math

import numpy as np
import torch
from transformers import PreTrainedModel

HEADS = 4


def weights(model: PreTrainedModel) -> dict[str, np.ndarray]:
    return {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}


def softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def by_head(rows_TD: np.ndarray, heads: int = HEADS) -> np.ndarray:
    """Channels of one head after the other: T, heads · C -> heads, T, C."""
    return rows_TD.reshape(len(rows_TD), heads, -1).transpose(1, 0, 2)


def meet(query_TD: np.ndarray, key_TD: np.ndarray, heads: int = HEADS) -> np.ndarray:
    """Scaled products of queries and keys, heads first."""
    query, key = by_head(query_TD, heads), by_head(key_TD, heads)
    return query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * weight + bias


# A table of positions -------------------------------------------------------------------------------------------------

BERT = "encoder.layer.{}.attention.self."
ALBERT = "encoder.albert_layer_groups.0.albert_layers.0.attention."


def brought(rows: np.ndarray, tokens: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """What rows bring to normed sums of token and row, word by word and slot by slot, in the mean over words."""
    found = np.zeros_like(rows)
    for token in tokens:
        for slot, row in enumerate(rows):
            without_row = (token - token.mean()) / math.sqrt((token + row).var() + eps) * weight
            found[slot] += (layer_norm(token + row, weight, np.zeros_like(row), eps) - without_row) / len(tokens)
    return found


def bert_rows(model: PreTrainedModel, n: int, words: list[int]) -> np.ndarray:
    """The rows of BERT's table, RoBERTa's after its padding, as the norm scales them and as wide as attention reads."""
    w = weights(model)
    first = 2 if model.config.model_type == "roberta" else 0
    rows = w["embeddings.position_embeddings.weight"][first : first + n]
    tokens = w["embeddings.word_embeddings.weight"][words] + w["embeddings.token_type_embeddings.weight"][0]
    rows = brought(rows, tokens, w["embeddings.LayerNorm.weight"], model.config.layer_norm_eps)
    for name in ("embeddings_project.weight", "encoder.embedding_hidden_mapping_in.weight"):
        rows = rows @ w[name].T if name in w else rows
    return rows


def attention_name(model: PreTrainedModel, layer: int) -> str:
    return ALBERT if model.config.model_type == "albert" else BERT.format(layer)


def bert_delta(model: PreTrainedModel, n: int, layer: int, words: list[int]) -> np.ndarray:
    """The table through the query and key weights, biases dropped."""
    w, name, rows = weights(model), attention_name(model, layer), bert_rows(model, n, words)
    return softmax(meet(rows @ w[f"{name}query.weight"].T, rows @ w[f"{name}key.weight"].T))


def gpt2_delta(model: PreTrainedModel, n: int, layer: int) -> np.ndarray:
    w = weights(model)
    both = w["wpe.weight"][:n] @ w[f"h.{layer}.attn.c_attn.weight"]
    query, key, _ = np.split(both, 3, axis=-1)
    return softmax(meet(query, key))


def bart_delta(model: PreTrainedModel, n: int, layer: int, words: list[int]) -> np.ndarray:
    """Its tables begin at row 2, and the encoder has one of its own."""
    w, name = weights(model), f"encoder.layers.{layer}.self_attn."
    rows, tokens = w["encoder.embed_positions.weight"][2 : 2 + n], w["shared.weight"][words]
    rows = brought(rows, tokens, w["encoder.layernorm_embedding.weight"], 1e-5)
    return softmax(meet(rows @ w[f"{name}q_proj.weight"].T, rows @ w[f"{name}k_proj.weight"].T))


def bert_in_place(model: PreTrainedModel, n: int, word: int) -> np.ndarray:
    """The first layer's attention over n copies of a word: normed sums of word, position and type."""
    w, config = weights(model), model.config
    first = 2 if config.model_type == "roberta" else 0
    summed = w["embeddings.word_embeddings.weight"][word] + w["embeddings.token_type_embeddings.weight"][0]
    summed = summed + w["embeddings.position_embeddings.weight"][first : first + n]
    norm = (w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])
    x = layer_norm(summed, *norm, config.layer_norm_eps)
    for name in ("embeddings_project", "encoder.embedding_hidden_mapping_in"):
        x = x @ w[f"{name}.weight"].T + w[f"{name}.bias"] if f"{name}.weight" in w else x
    return softmax(meet(*bert_sides(w, attention_name(model, 0), x)))


def bert_sides(w: dict[str, np.ndarray], name: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    query, key = (x @ w[f"{name}{side}.weight"].T + w[f"{name}{side}.bias"] for side in ("query", "key"))
    return query, key


# Positions in the logits ----------------------------------------------------------------------------------------------


def xlnet_delta(model: PreTrainedModel, n: int, x: np.ndarray) -> np.ndarray:
    """b + d: what the query of x, and a query that all share, ask of relative positions."""
    w, name = weights(model), "layer.0.rel_attn."
    query_HC = np.einsum("d,dhc->hc", x, w[f"{name}q"]) + w[f"{name}r_r_bias"]
    width = len(x)
    rates = 1 / 10000 ** (np.arange(0, width, 2) / width)
    logits = np.zeros((HEADS, n, n))
    for i in range(n):
        for j in range(n):
            wave = np.concatenate([np.sin((i - j) * rates), np.cos((i - j) * rates)])
            asked_HC = np.einsum("d,dhc->hc", wave, w[f"{name}r"])
            logits[:, i, j] = (query_HC * asked_HC).sum(-1) / math.sqrt(query_HC.shape[-1])
    return softmax(logits)


def deberta_input(model: PreTrainedModel, words: list[int]) -> np.ndarray:
    """What the first layer reads of words without positions, in the mean."""
    w = weights(model)
    x = w["embeddings.word_embeddings.weight"][words]
    norm = (w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])
    return layer_norm(x, *norm, model.config.layer_norm_eps).mean(0)


def deberta_delta(model: PreTrainedModel, n: int, x: np.ndarray) -> np.ndarray:
    """c2p + p2c, both asked of i - j, as released."""
    w, name = weights(model), "encoder.layer.0.attention.self."
    channels = len(x) // HEADS
    parts = (w[f"{name}in_proj.weight"] @ x).reshape(HEADS, 3, channels)
    query_HC, key_HC = parts[:, 0] + w[f"{name}q_bias"].reshape(HEADS, channels), parts[:, 1]
    most = model.config.max_relative_positions
    span = min(n, most)
    table = w["encoder.rel_embeddings.weight"][most - span : most + span]
    asked_RHC = (table @ w[f"{name}pos_proj.weight"].T).reshape(-1, HEADS, channels)
    asking_RHC = (table @ w[f"{name}pos_q_proj.weight"].T + w[f"{name}pos_q_proj.bias"]).reshape(-1, HEADS, channels)
    index = lambda lag: min(max(lag + span, 0), 2 * span - 1)  # noqa: E731
    return _disentangled(query_HC, key_HC, asked_RHC, asking_RHC, n, index)


def deberta_v2_delta(model: PreTrainedModel, n: int, x: np.ndarray) -> np.ndarray:
    """The same with logarithmic buckets, and the content's own projections for positions."""
    w, name, config = weights(model), "encoder.layer.0.attention.self.", model.config
    channels, half = len(x) // HEADS, config.position_buckets // 2

    def project(side: str, y: np.ndarray) -> np.ndarray:
        projected = y @ w[f"{name}{side}_proj.weight"].T + w[f"{name}{side}_proj.bias"]
        return projected.reshape(*y.shape[:-1], HEADS, channels)

    span = config.position_buckets
    table = w["encoder.rel_embeddings.weight"][: 2 * span]

    def index(lag: int) -> int:
        if abs(lag) > half:
            stretch = math.log(abs(lag) / half) / math.log((config.max_relative_positions - 1) / half)
            lag = int(math.copysign(math.ceil(stretch * (half - 1)) + half, lag))
        return min(max(lag + span, 0), 2 * span - 1)

    return _disentangled(
        project("query", x), project("key", x), project("key", table), project("query", table), n, index
    )


def _disentangled(query_HC, key_HC, asked_RHC, asking_RHC, n, index) -> np.ndarray:
    logits = np.zeros((HEADS, n, n))
    for i in range(n):
        for j in range(n):
            at = index(i - j)
            logits[:, i, j] = (query_HC * asked_RHC[at]).sum(-1) + (key_HC * asking_RHC[at]).sum(-1)
    return softmax(logits / math.sqrt(3 * query_HC.shape[-1]))


def llama_delta(model: PreTrainedModel, n: int, x: np.ndarray) -> np.ndarray:
    """Re conj(q) k e^{i theta (j - i)}, summed over the pairs that turn together."""
    w, config = weights(model), model.config
    query = (w["layers.0.self_attn.q_proj.weight"] @ x).reshape(HEADS, -1)
    key = (w["layers.0.self_attn.k_proj.weight"] @ x).reshape(config.num_key_value_heads, -1)
    key = key.repeat(HEADS // len(key), 0)
    half = query.shape[-1] // 2
    q, k = query[:, :half] + 1j * query[:, half:], key[:, :half] + 1j * key[:, half:]
    rates = config.rope_parameters["rope_theta"] ** (-np.arange(half) / half)
    offsets = np.arange(n)[None, :] - np.arange(n)[:, None]
    turning = np.exp(1j * rates[:, None, None] * offsets)
    return softmax(np.einsum("hf,fij->hij", q.conj() * k, turning).real / math.sqrt(2 * half))


def llama_input(model: PreTrainedModel, words: list[int]) -> np.ndarray:
    w = weights(model)
    x = w["embed_tokens.weight"][words]
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + model.config.rms_norm_eps)
    return (x * w["layers.0.input_layernorm.weight"]).mean(0)


def t5_delta(model: PreTrainedModel, n: int) -> np.ndarray:
    """The bias of the bucket of every offset."""
    name = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    bias_RH, config = weights(model)[name], model.config
    half = config.relative_attention_num_buckets // 2

    def bucket(offset: int) -> int:
        first, away = half if offset > 0 else 0, abs(offset)
        if away < half // 2:
            return first + away
        grown = math.log(away / (half // 2)) / math.log(config.relative_attention_max_distance / (half // 2))
        return first + min(half - 1, half // 2 + int(grown * (half - half // 2)))

    logits = np.array([[bias_RH[bucket(j - i)] for j in range(n)] for i in range(n)]).transpose(2, 0, 1)
    return softmax(logits)


def bloom_delta(n: int) -> np.ndarray:
    """A linear bias under the causal mask: slopes are powers of a half."""
    slopes = np.array([2.0 ** (-8 * (head + 1) / HEADS) for head in range(HEADS)])
    logits = slopes[:, None, None] * np.arange(n)[None, None, :] + np.zeros((HEADS, n, n))
    logits[:, np.triu(np.ones((n, n), dtype=bool), 1)] = -np.inf
    return softmax(logits)


# Means over texts -----------------------------------------------------------------------------------------------------


def bert_mean(model: PreTrainedModel, texts: list[torch.Tensor], layer: int) -> np.ndarray:
    """Softmax of mean queries with mean keys of every slot."""
    with torch.no_grad():
        hidden = [model(text[None], output_hidden_states=True).hidden_states[layer][0] for text in texts]
    w, name = weights(model), attention_name(model, layer)
    sides = [bert_sides(w, name, x.double().numpy()) for x in hidden]
    query, key = (np.mean([side[which] for side in sides], 0) for which in (0, 1))
    return softmax(meet(query, key))


def xlnet_mean(model: PreTrainedModel, texts: list[torch.Tensor]) -> np.ndarray:
    """a + b + c + d of mean queries and keys of every slot in the first layer."""
    w, name, n = weights(model), "layer.0.rel_attn.", len(texts[0])
    x = np.mean([w["word_embedding.weight"][text.numpy()] for text in texts], 0)
    query, key = (np.einsum("td,dhc->thc", x, w[f"{name}{side}"]) for side in "qk")
    rates = 1 / 10000 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
    logits = np.zeros((HEADS, n, n))
    for i in range(n):
        for j in range(n):
            wave = np.concatenate([np.sin((i - j) * rates), np.cos((i - j) * rates)])
            asked = np.einsum("d,dhc->hc", wave, w[f"{name}r"])
            content = ((query[i] + w[f"{name}r_w_bias"]) * key[j]).sum(-1)
            logits[:, i, j] = content + ((query[i] + w[f"{name}r_r_bias"]) * asked).sum(-1)
    return softmax(logits / math.sqrt(query.shape[-1]))
