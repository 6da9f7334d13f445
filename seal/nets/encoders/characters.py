"""The character network of words, computed once for each distinct word of a batch."""

from typing import Any

import torch
from allennlp.modules import TokenEmbedder
from allennlp.modules.seq2vec_encoders import CnnEncoder
from allennlp.modules.token_embedders import TokenCharactersEncoder
from allennlp.nn.util import min_value_of_dtype
from torch.nn import functional as F


@TokenEmbedder.register("seal_character_encoding")
class CharacterEncoder(TokenCharactersEncoder):
    """
    AllenNLP's `character_encoding` in half of its time on a CPU: each distinct word of a batch is encoded once, and the
    convolutions of a `cnn` with `relu` are one matrix product. Parameters and weights are those of
    `character_encoding`, and vectors are the same up to the rounding of sums.
    """

    def forward(self, token_characters: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        token_characters : `torch.LongTensor`, `(batch, words, characters)`
            0 is padding.

        # Returns

        `torch.FloatTensor`, `(batch, words, size)`
        """
        rows = token_characters.flatten(0, 1)
        if rows.device.type == "cpu":
            distinct, places = distinct_rows(rows)
            order, groups = _groups_of_lengths(distinct)
            vectors = torch.cat([self._encoded(group) for group in groups])
            vectors = vectors.index_select(0, order.argsort()[places])
        else:  # A GPU would wait for the numbers of words.
            vectors = self._encoded(rows)
        return self._dropout(vectors.unflatten(0, token_characters.shape[:2]))

    def _encoded(self, rows: torch.Tensor) -> torch.Tensor:
        embedded, mask, encoder = self._embedding._module(rows), rows != 0, self._encoder._module
        plain = type(encoder) is CnnEncoder and type(encoder._activation) is torch.nn.ReLU
        return convolved(encoder, embedded, mask) if plain else encoder(embedded, mask)


# Of the two groups of words; most have fewer characters, with the marks of their ends.
_LENGTHS = (8,)


def _groups_of_lengths(rows: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Rows in the order of their lengths, and groups of them without the padding that all of a group have."""
    lengths, order = (rows != 0).sum(dim=1).sort()
    bounds = [limit for limit in _LENGTHS if limit < rows.shape[1]]
    places = torch.searchsorted(lengths, torch.tensor(bounds, device=rows.device), right=True).tolist()
    parts = zip([0, *places], [*places, len(rows)], [*bounds, rows.shape[1]])
    return order, [rows[order[start:end], :length] for start, end, length in parts if end > start]


def distinct_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """
    The distinct ones among rows of whole numbers, `(distinct, length)`, and for each row its place among them,
    `(rows,)`. Where two of them have the same hash, all rows are returned.
    """
    powers = torch.full((rows.shape[1],), _FACTOR, dtype=torch.long, device=rows.device).cumprod(0)
    hashes = (rows * powers).sum(dim=1)  # Modulo 2 ** 64.
    every = torch.arange(len(rows), device=rows.device)
    found, places = hashes.unique(return_inverse=True)
    distinct = rows[every.new_empty(len(found)).scatter_(0, places, every)]
    return (distinct, places) if torch.equal(distinct[places], rows) else (rows, every)


# Odd, so that no power of it is 0 modulo 2 ** 64: the multiplier of Knuth's MMIX generator.
_FACTOR = 6364136223846793005


def convolved(encoder: CnnEncoder, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """
    What the encoder makes of sequences: of each filter the largest activation over the windows without padding, and 0
    where a sequence is shorter than the window.

    # Parameters

    encoder : `CnnEncoder`
        Its activation is `relu`.
    embedded : `torch.FloatTensor`, `(rows, length, size)`
    mask : `torch.BoolTensor`, `(rows, length)`

    # Returns

    `torch.FloatTensor`, `(rows, encoder.get_output_dim())`
    """
    layers: list[Any] = [layer for name, layer in encoder.named_children() if name.startswith("conv_layer_")]
    widths = [layer.kernel_size[0] for layer in layers]
    widest, number = max(widths), embedded.shape[1] - min(widths) + 1
    with torch.autocast(embedded.device.type, enabled=False):  # As in `seal.allennlp.compat`.
        embedded = embedded.float() if embedded.dtype != torch.double else embedded
        # Narrower filters have weights of 0 at their ends, so that all have the same windows.
        weights = torch.cat([F.pad(layer.weight, (0, widest - width)) for layer, width in zip(layers, widths)])
        biases = torch.cat([layer.bias for layer in layers])
        windows = F.pad(embedded, (0, 0, 0, widest - min(widths))).unfold(1, widest, 1)
        # shape: (rows, windows, widths, filters)
        scores = F.linear(windows.flatten(2), weights.flatten(1), biases).unflatten(2, (len(widths), -1))
        ends = torch.arange(number, device=mask.device).unsqueeze(1) + torch.tensor(widths, device=mask.device)
        padded = ends > mask.sum(dim=1).view(-1, 1, 1)  # shape: (rows, windows, widths)
        # The largest activation is that of the largest score.
        best = scores.masked_fill_(padded.unsqueeze(3), min_value_of_dtype(scores.dtype)).amax(dim=1)
        vectors = best.flatten(1).relu()
        return vectors if encoder.projection_layer is None else encoder.projection_layer(vectors)
