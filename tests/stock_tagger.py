"""A stock experiment of AllenNLP, for what is patched in it and for a user's mistakes."""

import copy
from pathlib import Path

from allennlp.common import Params

TAGGED = "the###D dog###N runs###V\na###D cat###N sees###V the###D dog###N\ndogs###N run###V\n"
#: An LSTM tagger; the data are left to be named.
CONFIG = {
    "dataset_reader": {"type": "sequence_tagging"},
    "model": {
        "type": "simple_tagger",
        "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}},
        "encoder": {"type": "lstm", "input_size": 4, "hidden_size": 5},
    },
    "data_loader": {"batch_size": 2},
    "trainer": {"num_epochs": 1, "cuda_device": -1, "optimizer": "adam"},
}


def experiment(data: Path, **trainer) -> Params:
    """The smallest stock experiment: the tagger on three sentences."""
    paths = {"train_data_path": str(data), "validation_data_path": str(data)}
    return Params({**copy.deepcopy(CONFIG), **paths, "trainer": {**CONFIG["trainer"], **trainer}})
