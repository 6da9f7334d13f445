"""A stock experiment of AllenNLP, for what is patched in it."""

from pathlib import Path

from allennlp.common import Params

TAGGED = "the###D dog###N runs###V\na###D cat###N sees###V the###D dog###N\ndogs###N run###V\n"


def experiment(data: Path, **trainer) -> Params:
    """The smallest stock experiment: an LSTM tagger on three sentences."""
    return Params(
        {
            "dataset_reader": {"type": "sequence_tagging"},
            "train_data_path": str(data),
            "validation_data_path": str(data),
            "model": {
                "type": "simple_tagger",
                "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 4}}},
                "encoder": {"type": "lstm", "input_size": 4, "hidden_size": 5},
            },
            "data_loader": {"batch_size": 2},
            "trainer": {"num_epochs": 1, "cuda_device": -1, "optimizer": "adam", **trainer},
        }
    )
