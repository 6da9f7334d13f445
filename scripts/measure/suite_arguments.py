"""The arguments that `--settings` may give to the methods and encoders of suites."""

from dataclasses import dataclass

from scripts.measure.configs import listed, taken, text
from scripts.measure.suite import Settings, UserError

#: The arguments that every BiLSTM over words of `training_configs/lib/encoders.libsonnet` has.
OF_BILSTM = (
    *("vectors", "vector_words", "trainable", "word_dim", "hidden", "layers", "dropout"),
    *("characters", "word_dropout"),
)


_DRAWS = ("num_samples", "energy_weight", "share_encoder")
_IMPLICIT = ("energy_weight", "solver_steps", "damping", "last_layer", "share_encoder")
#: Of the methods that tagging, texts, roles and citations share: those of the functions in
#: `training_configs/lib/methods.libsonnet`.
SHARED: dict[str, tuple[str, ...]] = {
    "margin": ("energy_weight", "cost", "share_encoder"),
    "nce": (*_DRAWS, "straight_through"),
    "ranking": (*_DRAWS, "straight_through"),
    "regression_discrete": _DRAWS,
    "spen_end_to_end": (
        "inference_steps",
        "step_size",
        "momentum",
        "entropy_weight",
        "truncation",
        "checkpoint",
        "weights",
    ),
    "structured": ("structure", "folds", "folds_with_loss_net"),
    "implicit_cd": ("num_samples", *_IMPLICIT),
    "implicit_ssvm": (*_IMPLICIT, "cost"),
}


@dataclass(frozen=True)
class EncoderChoice:
    """
    The encoder of a suite's runs: one of words, or the transformer that `--encoder` names.

    `of_words` and `of_transformer` are the arguments that `--settings` may give to the one and to the other, which are
    functions of the suite's library.
    """

    #: The name, in messages, of the encoder that is used without `--encoder`.
    words: str
    of_words: tuple[str, ...]
    of_transformer: tuple[str, ...]

    def names(self, with_transformer: bool = True) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.of_words, *(self.of_transformer if with_transformer else ())]))

    def call(self, library: str, words: str, settings: Settings, more: dict[str, str]) -> str:
        """
        The call of `library`'s encoder, with its settings, which are taken out of `more`. `words` is the name of its
        function for an encoder that reads words. Raises `UserError` if `more` has a setting of the other kind of
        encoder.
        """
        if settings.encoder is None:
            own, other, told = self.of_words, self.of_transformer, "a transformer; name one with --encoder"
        else:
            own, other, told = self.of_transformer, self.of_words, f"{self.words}; leave it out, or --encoder"
        arguments = taken(more, own)
        for name in other:
            if name in more:
                raise UserError(f"--settings: '{name}' is of {told}.")
        if settings.encoder is None:
            return f"{library}.encoder.{words}({listed('=', arguments)})"
        named = f", {listed('=', arguments)}" if arguments else ""
        return f"{library}.encoder.transformer({text(settings.encoder)}{named})"
