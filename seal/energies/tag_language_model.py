import re
from typing import Any, Optional

import torch
from allennlp.data import Vocabulary
from allennlp.modules import TextFieldEmbedder

from seal.allennlp.trained_models import trained_weights
from seal.common.nested_values import shapes_of
from seal.common.precision import without_autocast
from seal.common.setting_checks import check_range, require
from seal.energies.energy import Energy, check_output_space
from seal.output_spaces import OutputSpace, TagSequence
from seal.registry import ConfigurationError

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


_TERM = re.compile(r"(loss_net\.energies\.\d+)\.(.+)")


def load_pretrained_energy(
    energy: Energy, key: str, path: str, output_space: OutputSpace, inputs: Optional[Vocabulary] = None
) -> None:
    """
    Loads into an energy the weights of the one term of its shape in a trained model's loss-net, which may have other
    terms too. Checkpoints and archives of the new model hold the weights and no longer need the file.

    # Parameters

    energy : `Energy`
    key : `str`
        The config key of `path`, for messages.
    path : `str`
        A `model.tar.gz`, or the folder of a run.
    output_space : `OutputSpace`
        Its labels must be the trained model's, in their order.
    inputs : `Vocabulary`, optional (default = `None`)
        The new model's vocabulary, if the term reads words by their indices; these must equal the trained model's.

    # Raises

    `ConfigurationError` if there is no such model, its labels or inputs differ, or not exactly one of its terms has
    this shape.
    """
    weights = trained_weights(path, key, output_space.namespace, output_space.labels, inputs)
    terms: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in weights.items():
        match = _TERM.fullmatch(name)
        if match is not None:
            terms.setdefault(match[1], {})[match[2]] = value
    shapes = shapes_of(energy.state_dict())
    fitting = [weights for weights in terms.values() if shapes_of(weights) == shapes]
    if len(fitting) != 1:
        raise ConfigurationError(
            f"{key}: of the {len(terms)} terms of the loss-net in '{path}', {len(fitting)} have the shape of this "
            "one, where it takes exactly one: give this term the settings of that one."
        )
    energy.load_state_dict(fitting[0])


_KEY = "loss_net.energies: 'tag_language_model'"


@Energy.register("tag_language_model")
class TagLanguageModelEnergy(Energy):
    """
    The negative log-likelihood of a tag sequence under language models of tags (Tu, Pang & Gimpel 2020, section 5,
    Eq. 8 and 9):

        E(y) = - sum_t [ log(y_t^T p_t) + log(y_t^T p'_t) + gamma (log(y_t^T q_t) + log(y_t^T q'_t)) ]

    `p` and `p'` are a forward and a backward LSTM over the tags; `q` and `q'` are LSTMs of the same kind that read
    the words before (after) `t` as well. The sum has `T + 1` terms, the last for the end symbol. A backward model is
    a forward model of the reversed sequence, with start and end symbols of its own. The paper's settings:

    - GE(a): `{type: 'tag_language_model'}`, `p` alone;
    - GE(b): `backward: true`;
    - GE(c): `backward: true`, `gamma` above 0.

    The models are trained with the loss-net, from scratch or from loaded weights; with `frozen` the loaded weights are
    not trained (Tu & Gimpel 2018).

    # Parameters

    input_dim, output_space : given by the loss-net.
    backward : `bool`, optional (default = `False`)
        Whether there are backward models.
    gamma : `float`, optional (default = `0.0`)
        The weight of the models that read words; with 0 there are none.
    word_embedder : `TextFieldEmbedder`, optional (default = `None`)
        Embeds the words that `q` and `q'` read, from the field `tokens`. `None`: they read the loss-net's vectors
        `T_E(x)_t`. The vectors of a BiLSTM or a transformer depend on the words after `t` too, so for Eq. 9 as printed
        give an embedder.
    word_dim : `int`, optional (default = `None`)
        A linear map brings the words' vectors to this size, once a batch: a large vector beside each tag of each
        candidate is most of the cost of `q`. `None`: they are read as they are.
    embedding_dim : `int`, optional (default = `32`)
        The size of a tag's embedding. The paper gives none; the default is small, as tags are few.
    hidden_dim : `int`, optional (default = `128`)
        The LSTMs' hidden size; the default is the paper's.
    with_start, with_end : `bool`, optional (default = `True`)
        Whether there are start and end symbols. Without the first, the first tag is given and not predicted; without
        the second, the end is not predicted.
    weight : `float`, optional (default = `1.0`)
        The weight of this term in the loss-net's sum; 1 in the paper.
    pretrained_file : `str`, optional (default = `None`)
        The archive or folder of a trained model whose loss-net has a term of this shape, from which to load weights.
        With a `word_embedder` the words of its vocabulary must be those of this data, in their order.
    frozen : `bool`, optional (default = `False`)
        Whether the models keep the loaded weights, and have no dropout. Models that read words then need a
        `word_embedder`, which is frozen with them: `T_E(x)` differs from one loss-net to another.
    vocab : `Vocabulary`, optional
        Given by the model.

    # Raises

    `ConfigurationError` if the outputs are not tag sequences, a number is out of range, the file does not fit, or
    frozen models were not loaded or read the loss-net's vectors.
    """

    def __init__(
        self,
        input_dim: int,
        output_space: OutputSpace,
        backward: bool = False,
        gamma: float = 0.0,
        word_embedder: Optional[TextFieldEmbedder] = None,
        word_dim: Optional[int] = None,
        embedding_dim: int = 32,
        hidden_dim: int = 128,
        with_start: bool = True,
        with_end: bool = True,
        weight: float = 1.0,
        pretrained_file: Optional[str] = None,
        frozen: bool = False,
        vocab: Optional[Vocabulary] = None,
    ) -> None:
        super().__init__()
        check_output_space("tag_language_model", output_space, TagSequence, "tag sequences")
        _check_sizes(word_dim=word_dim, embedding_dim=embedding_dim, hidden_dim=hidden_dim)
        _check_words(gamma, word_embedder, word_dim, frozen)
        self.gamma, self.weight, self.frozen = gamma, weight, frozen
        directions = ("forward", "backward") if backward else ("forward",)

        def models(words: int) -> torch.nn.ModuleDict:
            size = (output_space.num_labels, embedding_dim, hidden_dim, words, with_start, with_end)
            # The suffix is needed because `forward` is a method of a module.
            return torch.nn.ModuleDict({f"{name}_model": TagLanguageModel(*size) for name in directions})

        self.tag_models = models(0)
        self.word_embedder = word_embedder
        self.word_models: Optional[torch.nn.ModuleDict] = None
        self.word_map: Optional[torch.nn.Linear] = None
        if gamma > 0:
            words = input_dim if word_embedder is None else word_embedder.get_output_dim()
            if word_dim is not None:
                self.word_map = torch.nn.Linear(words, word_dim, bias=False)
            self.word_models = models(word_dim or words)

        # An archive's config has no `pretrained_file`: its weights are loaded after this constructor.
        self._was_loaded = pretrained_file is not None
        self.register_load_state_dict_post_hook(_mark_as_loaded)
        if pretrained_file is not None:
            key = "loss_net.energies: pretrained_file of 'tag_language_model'"
            inputs = None if word_embedder is None else vocab
            load_pretrained_energy(self, key, pretrained_file, output_space, inputs)
        if frozen:
            self.requires_grad_(False)

    def train(self, mode: bool = True) -> "TagLanguageModelEnergy":
        return super().train(mode and not self.frozen)

    def condition(
        self,
        hidden: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        inputs: Optional[dict[str, Any]] = None,
    ) -> Optional[torch.Tensor]:
        """
        The words' vectors, `(batch, tokens, word_dim)`; `None` where no model reads words. `inputs` are the model's
        input tensors by name, which a `word_embedder` needs.
        """
        if self.word_models is None:
            return None
        words = hidden
        if self.word_embedder is not None:
            if inputs is None or "tokens" not in inputs:
                raise ConfigurationError(
                    f"{_KEY} has word_embedder, and this model gives its energies no 'tokens'; drop word_embedder."
                )
            words = self.word_embedder(inputs["tokens"])
        return words if self.word_map is None else self.word_map(words)

    # Not for precision alone: a processor without instructions for bfloat16 has no LSTM of that type in torch.
    @without_autocast
    def forward(
        self,
        condition: Optional[torch.Tensor],
        outputs: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        if self.frozen and not self._was_loaded:
            raise ConfigurationError(f"{_KEY} is frozen, and nothing was loaded that could be; set pretrained_file.")
        batch, samples, tokens = outputs.shape[:3]
        if mask is None:
            lengths = torch.full((batch,), tokens, device=outputs.device)
        else:
            lengths = mask.sum(dim=1)
        # The candidates of all instances form one large batch of sequences.
        # shape: (batch * samples,)
        lengths = lengths.repeat_interleave(samples)
        # shape: (batch * samples, tokens[, tags])
        outputs = outputs.flatten(0, 1)
        words = None
        if self.word_models is not None:
            # shape: (batch * samples, tokens, word_dim)
            words = require(condition, f"{_KEY}: the words").repeat_interleave(samples, dim=0)
        total = outputs.new_zeros((), dtype=torch.float)
        for name in self.tag_models:
            if name == "backward_model":
                outputs = reverse_tokens(outputs, lengths)
                words = None if words is None else reverse_tokens(words, lengths)
            total = total + self.tag_models[name](outputs, lengths)
            if self.word_models is not None:
                total = total + self.gamma * self.word_models[name](outputs, lengths, words)
        return -self.weight * total.view(batch, samples)


def _check_sizes(**sizes: Optional[int]) -> None:
    for name, value in sizes.items():
        check_range(f"loss_net.energies: {name} of 'tag_language_model'", value, least=1)


def _check_words(gamma: float, word_embedder: Any, word_dim: Optional[int], frozen: bool) -> None:
    """Whether what models of words have beside `gamma` fits it."""
    check_range("loss_net.energies: gamma of 'tag_language_model'", gamma, least=0)
    for name, part in (("word_embedder", word_embedder), ("word_dim", word_dim)):
        if part is not None and gamma == 0:
            raise ConfigurationError(f"{_KEY} has {name}, and no model reads words with a gamma of 0; set gamma.")
    if frozen and gamma > 0 and word_embedder is None:
        raise ConfigurationError(
            f"{_KEY} is frozen, and models that read words are left as they were loaded only if what they read "
            "is; set word_embedder, or gamma to 0."
        )


def _mark_as_loaded(energy: TagLanguageModelEnergy, keys: Any) -> None:
    energy._was_loaded = True
