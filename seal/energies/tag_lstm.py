from typing import Optional

import torch

# The least probability of a relaxed tag: one of probability 0 adds 18.4 nats to the energy, with a gradient of 0. Those
# of discrete tags and of the end are computed as logarithms, without bound, so that gold below it is learned, too.
_LEAST_PROBABILITY = 1e-8


class TagLanguageModel(torch.nn.Module):
    """
    `log P(y) = sum_t log(y_t^T p_t)` with `p_t = h(y_0 .. y_{t-1})`, an LSTM's distribution of the next symbol
    (Tu, Pang & Gimpel 2020, section 5, Eq. 8). `y_0` is a start symbol and `y_{T+1}` an end symbol, so the sum has
    `T + 1` terms, and `p_t` is a distribution over the tags and the end symbol. For a discrete `y` this is the exact
    log-likelihood.

    The LSTM reads a relaxed tag as its expected embedding, `Emb^T y_t`. It may read the words beside the tags,
    `g(x_0 .. x_{t-1}, y_0 .. y_{t-1})`; `p_t` depends on no word from position `t` on.

    # Parameters

    num_tags : `int`
    embedding_dim : `int`
    hidden_dim : `int`
    word_dim : `int`, optional (default = `0`)
        The size of the words' vectors; 0 for a model of tags alone.
    with_start : `bool`, optional (default = `True`)
        Without the start symbol the sum begins at `t = 2`.
    with_end : `bool`, optional (default = `True`)
        Without the end symbol the sum ends at `t = T`, and `p_t` is a distribution over the tags alone.
    """

    def __init__(
        self,
        num_tags: int,
        embedding_dim: int,
        hidden_dim: int,
        word_dim: int = 0,
        with_start: bool = True,
        with_end: bool = True,
    ) -> None:
        super().__init__()
        self.num_tags = num_tags
        self.embedding = torch.nn.Parameter(torch.empty(num_tags, embedding_dim))
        torch.nn.init.normal_(self.embedding, std=embedding_dim**-0.5)
        # y_0 and, where words are read, x_0.
        self.start: Optional[torch.nn.Parameter] = None
        if with_start:
            self.start = torch.nn.Parameter(torch.empty(embedding_dim + word_dim))
            torch.nn.init.normal_(self.start, std=embedding_dim**-0.5)
        self.lstm = torch.nn.LSTM(embedding_dim + word_dim, hidden_dim, batch_first=True)
        self.output = torch.nn.Linear(hidden_dim, num_tags + with_end)
        self.with_end = with_end

    def train(self, mode: bool = True) -> "TagLanguageModel":
        super().train(mode)
        # cuDNN has no backward pass for an LSTM in evaluation mode, and the task-net's loss and gradient-based
        # inference descend a loss-net in that mode. The LSTM has no dropout, so the mode changes nothing else.
        self.lstm.train()
        return self

    def forward(
        self, outputs: torch.Tensor, lengths: torch.Tensor, words: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """
        # Parameters

        outputs : `torch.Tensor`
            shape: (batch, tokens, tags), relaxed, or (batch, tokens), discrete. Padding comes last.
        lengths : `torch.LongTensor`
            shape: (batch,), at least 1.
        words : `torch.Tensor`, optional
            shape: (batch, tokens, word_dim)

        # Returns

        `torch.Tensor`
            shape: (batch,), in nats.
        """
        relaxed = outputs.is_floating_point()
        inputs = outputs.to(self.embedding) @ self.embedding if relaxed else self.embedding[outputs]
        if words is not None:
            inputs = torch.cat([inputs, words.to(inputs)], dim=-1)
        first = 0
        if self.start is None:
            # Without a start symbol nothing precedes the first tag, so it is not predicted.
            first, outputs = 1, outputs[:, 1:]
        else:
            inputs = torch.cat([self.start.to(inputs).expand(len(inputs), 1, -1), inputs], dim=1)
        # Padding comes last and the LSTM reads from left to right, so padding has no effect on real tokens.
        # shape: (batch, inputs, tags + 1 or tags); position i has read i + 1 inputs and predicts what comes next
        log_probs = self.output(self.lstm(inputs)[0]).log_softmax(dim=-1)
        tokens = outputs.shape[1]
        if relaxed:
            probs = log_probs[:, :tokens, : self.num_tags].exp()
            chosen = (probs * outputs).sum(dim=-1).clamp(min=_LEAST_PROBABILITY).log()
        else:
            chosen = log_probs[:, :tokens].gather(2, outputs.unsqueeze(-1)).squeeze(-1)
        real = torch.arange(first, first + tokens, device=lengths.device) < lengths.unsqueeze(-1)
        total = (chosen * real).sum(dim=-1)
        if self.with_end:
            ends = log_probs[:, :, -1].gather(1, (lengths - first).clamp(min=0).unsqueeze(-1)).squeeze(-1)
            total = total + ends
        return total


def reverse_tokens(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """
    `values (batch, tokens, ...)` with the first `lengths (batch,)` tokens of each row in reverse order. Padding stays
    last; its values are arbitrary.
    """
    places = torch.arange(values.shape[1], device=lengths.device)
    # At padding token 0 is taken; any valid index would do.
    places = (lengths.unsqueeze(-1) - 1 - places).clamp(min=0)
    index = places.view(places.shape + (1,) * (values.dim() - 2)).expand(values.shape)
    return values.gather(1, index)
