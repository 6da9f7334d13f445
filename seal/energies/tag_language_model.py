from typing import Any, Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import TextFieldEmbedder

from seal.common.precision import without_autocast
from seal.energies.energy import Energy, check_output_space
from seal.energies.language_model import TagLanguageModel, reverse_tokens
from seal.energies.pretrained_energy import load_pretrained_energy
from seal.output_spaces import OutputSpace, TagSequence

_KEY = "loss_net.energies: 'tag_language_model'"


@Energy.register("tag_language_model")
class TagLanguageModelEnergy(Energy):
    """
    How unlikely language models of tags find a tag sequence (Tu, Pang & Gimpel 2020, section 5, Eq. 8 and 9;
    EN7-EN11):

        E(y) = - sum_t [ log(y_t^T p_t) + log(y_t^T p'_t) + gamma (log(y_t^T q_t) + log(y_t^T q'_t)) ]

    with `p` a forward and `p'` a backward LSTM over the tags, `q` and `q'` their twins that read the words before
    (after) `t` as well. The sum has `T + 1` terms, the last for the end symbol; a backward model is a forward model
    of the reversed sequence, with symbols of its own. The paper's settings:

    - GE(a): `{type: 'tag_language_model'}`, `p` alone;
    - GE(b): `backward: true`;
    - GE(c): `backward: true`, `gamma` above 0.

    The models are trained with the loss-net, from scratch, or loaded and, with `frozen`, left as they are (Tu &
    Gimpel 2018; EN10).

    # Parameters

    input_dim, output_space : given by the loss-net.
    backward : `bool`, optional (default = `False`)
    gamma : `float`, optional (default = `0.0`)
        The weight of the models that read words; 0 makes none.
    word_embedder : `TextFieldEmbedder`, optional (default = `None`)
        The words as `q` reads them, from the field `tokens`. `None`: the loss-net's vectors `T_E(x)_t`. Those of a
        BiLSTM or a transformer know the words after `t` too; for Eq. 9 as printed give an embedder.
    word_dim : `int`, optional (default = `None`)
        The words' vectors are brought to this size by a linear map, once a batch; a large vector beside each tag
        of each candidate is most of the cost of `q`. `None`: they are read as they are.
    embedding_dim : `int`, optional (default = `32`)
        The size of a tag's embedding; the paper gives none, and tags are few.
    hidden_dim : `int`, optional (default = `128`)
        The LSTMs' size, that of the paper.
    with_start, with_end : `bool`, optional (default = `True`)
        The start and end symbols (EN11). Without, the first tag is given, not predicted; the end is not predicted.
    weight : `float`, optional (default = `1.0`)
        Of this term in the loss-net's sum; 1 in the paper.
    pretrained_file : `str`, optional (default = `None`)
        A trained model's archive or folder whose loss-net has a term of this shape, to start from.
    frozen : `bool`, optional (default = `False`)
        Whether the models stay as they were loaded, without dropout. Those that read words need a `word_embedder`: it
        is frozen with them, and `T_E(x)` is another in each loss-net.

    # Raises

    `ConfigurationError` if the outputs are not tag sequences, a number is out of range, the file does not fit, or
    models are frozen that nothing was loaded into or that read the loss-net's vectors.
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
    ) -> None:
        super().__init__()
        check_output_space("tag_language_model", output_space, TagSequence, "tag sequences")
        sizes = {"word_dim": word_dim, "embedding_dim": embedding_dim, "hidden_dim": hidden_dim}
        for name, value in sizes.items():
            if value is not None and value < 1:
                raise ConfigurationError(f"{_KEY} has {name} {value}; give at least 1.")
        if gamma < 0:
            raise ConfigurationError(f"{_KEY} has gamma {gamma}; give at least 0.")
        for name, value in (("word_embedder", word_embedder), ("word_dim", word_dim)):
            if value is not None and gamma == 0:
                raise ConfigurationError(f"{_KEY} has {name}, and no model reads words with a gamma of 0; set gamma.")
        if frozen and gamma > 0 and word_embedder is None:
            raise ConfigurationError(
                f"{_KEY} is frozen, and models that read words are left as they were loaded only if what they read "
                "is; set word_embedder, or gamma to 0."
            )
        self.gamma, self.weight, self.frozen = gamma, weight, frozen
        directions = ("forward", "backward") if backward else ("forward",)

        def models(words: int) -> torch.nn.ModuleDict:
            size = (output_space.num_labels, embedding_dim, hidden_dim, words, with_start, with_end)
            # Not the bare names: `forward` is a method.
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

        # An archive is loaded without the key `pretrained_file`; its weights then come after this.
        self._was_loaded = pretrained_file is not None
        self.register_load_state_dict_post_hook(_mark_as_loaded)
        if pretrained_file is not None:
            key = "loss_net.energies: pretrained_file of 'tag_language_model'"
            load_pretrained_energy(self, key, pretrained_file, output_space)
        if frozen:
            self.requires_grad_(False)

    def train(self, mode: bool = True) -> "TagLanguageModelEnergy":
        return super().train(mode and not self.frozen)

    def condition(
        self,
        hidden: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        inputs: Optional[Dict[str, Any]] = None,
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
            raise ConfigurationError(
                f"{_KEY} is frozen, and nothing was loaded that could be; set pretrained_file."
            )
        batch, samples, tokens = outputs.shape[:3]
        if mask is None:
            lengths = torch.full((batch,), tokens, device=outputs.device)
        else:
            lengths = mask.sum(dim=1)
        # Every candidate of every instance is a sequence of one large batch.
        # shape: (batch * samples,)
        lengths = lengths.repeat_interleave(samples)
        # shape: (batch * samples, tokens[, tags])
        outputs = outputs.flatten(0, 1)
        words = None
        if self.word_models is not None:
            # shape: (batch * samples, tokens, word_dim)
            words = condition.repeat_interleave(samples, dim=0)
        total = outputs.new_zeros((), dtype=torch.float)
        for name in self.tag_models:
            if name == "backward_model":
                outputs = reverse_tokens(outputs, lengths)
                words = None if words is None else reverse_tokens(words, lengths)
            total = total + self.tag_models[name](outputs, lengths)
            if self.word_models is not None:
                total = total + self.gamma * self.word_models[name](outputs, lengths, words)
        return -self.weight * total.view(batch, samples)


def _mark_as_loaded(energy: TagLanguageModelEnergy, keys: Any) -> None:
    energy._was_loaded = True
