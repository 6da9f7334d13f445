import math
from typing import Optional, cast

import torch
from torch.nn import functional as F

from seal.common.precision import without_autocast
from seal.common.setting_checks import check_choice, check_range
from seal.energies.energy import Energy, check_output_space
from seal.output_spaces import OutputSpace, TagSequence
from seal.registry import ConfigurationError


@Energy.register("self_attention")
class SelfAttentionEnergy(Energy):
    """
    A global energy of a tag sequence of any length (SEAL, NeurIPS 2022, section 4.3):

        H        = SelfAttention(W_y y_t + pos_t)          over the tags alone, padding masked out
        E_global = v^T softplus(W_o pool_t(H_t) + c)

    `pool_t` is the mean or the sum over real tokens. With the sum the energy can tell that a role occurs twice,
    whatever the length of the sentence. A layer is `X + O concat_h(softmax(Q_h K_h^T / sqrt(d_h)) V_h)`; there is a
    layer norm between two layers. Positions are sinusoids, so sequences have no maximum length.

    With one layer (the paper's model) and discrete outputs, no vectors of width `hidden_dim` are computed for the
    tokens of a candidate: queries and keys are sums of a tag's and a position's vector, so the attention score of
    two tokens is the sum of four table look-ups, and the pool over `H` needs only the total attention that each token
    receives. The energy is the same up to rounding; 400 candidates cost about as much as 20 otherwise.

    # Parameters

    input_dim, output_space : given by the loss-net.
    hidden_dim : `int`, optional (default = `256`)
        Width of the tag vectors, and of the softplus layer.
    num_heads : `int`, optional (default = `1`)
    num_layers : `int`, optional (default = `1`)
    pooling : `str`, optional (default = `"mean"`)
        `"mean"`, the printed formula, or `"sum"`, which `training_configs/lib/srl.libsonnet` sets.
    dropout : `float`, optional (default = `0.0`)
        The dropout probability of the entries in the table of tag vectors. All candidates of a batch share one
        dropout mask, so that dropout never decides which of two candidates has the lower energy.

    # Raises

    `ConfigurationError` if the outputs are not tag sequences, a size is below 1, `hidden_dim` is not a multiple of
    `num_heads` or is odd, `dropout` is not in [0, 1], or `pooling` is unknown.
    """

    def __init__(
        self,
        input_dim: int,
        output_space: OutputSpace,
        hidden_dim: int = 256,
        num_heads: int = 1,
        num_layers: int = 1,
        pooling: str = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_output_space("self_attention", output_space, TagSequence, "tag sequences")
        key = "loss_net.energies: 'self_attention'"
        check_choice("loss_net.energies: pooling of 'self_attention'", pooling, ("mean", "sum"))
        check_range("loss_net.energies: dropout of 'self_attention'", dropout, least=0, most=1)
        for name, value in (("hidden_dim", hidden_dim), ("num_heads", num_heads), ("num_layers", num_layers)):
            check_range(f"loss_net.energies: {name} of 'self_attention'", value, least=1)
        if hidden_dim % num_heads != 0 or hidden_dim % 2 != 0:
            raise ConfigurationError(
                f"{key} has hidden_dim {hidden_dim}; give one that is even and a multiple of num_heads, {num_heads}."
            )
        self.tag_vectors = torch.nn.Linear(output_space.num_labels, hidden_dim, bias=False)
        torch.nn.init.normal_(self.tag_vectors.weight, std=1 / math.sqrt(hidden_dim))
        self.layers = torch.nn.ModuleList(_Attention(hidden_dim, num_heads) for _ in range(num_layers))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(hidden_dim) for _ in range(num_layers - 1))
        self.output = torch.nn.Linear(hidden_dim, hidden_dim)
        self.direction = torch.nn.Linear(hidden_dim, 1, bias=False)
        self.pooling = pooling
        self.dropout = dropout

    @without_autocast
    def forward(self, condition: None, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        # shape: (tags, hidden_dim)
        tags = F.dropout(self.tag_vectors.weight.t(), self.dropout, self.training)
        tokens = outputs.shape[2]
        # shape: (tokens, hidden_dim)
        positions = sinusoids(tokens, tags.shape[1]).to(tags)
        if mask is None:
            mask = torch.ones(outputs.shape[0], tokens, dtype=torch.bool, device=outputs.device)
        # shape: (batch, 1, tokens)
        mask = mask.unsqueeze(1)
        weights = mask.to(tags)
        if self.pooling == "mean":
            # The mean of an instance without tokens is 0.
            weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1)
        if len(self.layers) == 1 and not outputs.is_floating_point():
            pooled = cast(_Attention, self.layers[0]).pooled(tags, positions, outputs, mask, weights)
        else:
            hidden = (outputs @ tags if outputs.is_floating_point() else F.embedding(outputs, tags)) + positions
            for i, layer in enumerate(self.layers):
                hidden = layer(hidden, mask)
                if i < len(self.norms):
                    hidden = self.norms[i](hidden)
            pooled = (weights.unsqueeze(-2) @ hidden).squeeze(-2)
        return self.direction(F.softplus(self.output(pooled))).squeeze(-1)


class _Attention(torch.nn.Module):
    """`X + O concat_h(softmax(Q_h K_h^T / sqrt(d_h)) V_h)` over the second-last dimension."""

    def __init__(self, hidden_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = torch.nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.key = torch.nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.value = torch.nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.out = torch.nn.Linear(hidden_dim, hidden_dim, bias=False)

    def _heads(self, vectors: torch.Tensor) -> torch.Tensor:
        # shape: (..., tokens, hidden_dim) -> (..., heads, tokens, hidden_dim / heads)
        return vectors.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        query, key, value = (self._heads(net(hidden)) for net in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        # shape: (batch, samples, heads, tokens, tokens)
        attention = masked_softmax(scores, mask[:, :, None, None, :])
        mixed = (attention @ value).transpose(-2, -3).flatten(-2)
        return hidden + self.out(mixed)

    def pooled(
        self,
        tags: torch.Tensor,
        positions: torch.Tensor,
        outputs: torch.Tensor,
        mask: torch.Tensor,
        weights: torch.Tensor,
    ) -> torch.Tensor:
        """
        `sum_i w_i H_i` of discrete `outputs (batch, samples, tokens)` and `weights (batch, 1, tokens)`, from tables:

            score(i, j)   = (q(a_i) + q(i)) . (k(a_j) + k(j))
                          = TT[a_i, a_j] + TP[a_i, j] + PT[i, a_j] + PP[i, j]
            sum_i w_i H_i = sum_j w_j x_j + O sum_j alpha_j V x_j

        with `a_i` the tag of token i and `alpha_j = sum_i w_i attention(i, j)`.
        """
        batch, samples, tokens = outputs.shape
        num_tags, scale = len(tags), math.sqrt(tags.shape[1] // self.num_heads)
        # shape: (heads, tags or tokens, hidden_dim / heads)
        tag_query, tag_key = self._heads(self.query(tags)) / scale, self._heads(self.key(tags))
        place_query, place_key = self._heads(self.query(positions)) / scale, self._heads(self.key(positions))

        flat = outputs.reshape(-1)
        # shape: (batch, samples, tokens, tokens)
        pair = outputs.unsqueeze(-1) * num_tags + outputs.unsqueeze(-2)
        pair = pair.reshape(-1)
        total = []
        for h in range(self.num_heads):
            tag_tag = (tag_query[h] @ tag_key[h].t()).reshape(-1)
            tag_place = tag_query[h] @ place_key[h].t()
            place_tag = place_query[h] @ tag_key[h].t()
            scores = tag_tag.index_select(0, pair).view(batch, samples, tokens, tokens)
            scores = scores + tag_place.index_select(0, flat).view_as(scores)
            scores = scores + place_tag.t().index_select(0, flat).view_as(scores).transpose(-1, -2)
            scores = scores + place_query[h] @ place_key[h].t()
            attention = masked_softmax(scores, mask[:, :, None, :])
            # shape: (batch, samples, tokens)
            total.append((weights.unsqueeze(-2) @ attention).squeeze(-2))

        def gather(weight: torch.Tensor) -> torch.Tensor:
            # sum_j weight_j x_j, with x_j = tag vector + position: a histogram over tags, then one product.
            histogram = weight.new_zeros(batch, samples, num_tags).scatter_add(2, outputs, weight)
            return histogram @ tags + weight @ positions

        mixed = [
            F.linear(gather(alpha), self.value.weight.unflatten(0, (self.num_heads, -1))[h])
            for h, alpha in enumerate(total)
        ]
        return gather(weights.expand(batch, samples, tokens)) + self.out(torch.cat(mixed, dim=-1))


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)


def sinusoids(tokens: int, size: int) -> torch.Tensor:
    """
    The position vectors of Vaswani et al. 2017, section 3.5, scaled to norm 1, about that of the initial tag vectors:
    `(tokens, size)`.
    """
    rate = torch.exp(torch.arange(0, size, 2) * (-math.log(10_000.0) / size))
    angle = torch.arange(tokens).unsqueeze(1) * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1) * math.sqrt(2 / size)
