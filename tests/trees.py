"""What tests of parsing share: a few trees and a tiny parser, a space of a few symbols and all of its trees."""

import copy
from typing import Any

import torch
from allennlp.common import Params
from allennlp.data import Batch, Vocabulary
from allennlp.models import Model
from nltk import Tree

from seal.common.linear_trees import linearised
from seal.nets import AttentionDecoder, Encoder, TaskNet
from seal.output_spaces import LinearTree, TreePrefixes
from seal.tasks.parsing.reader import ParsingReader

SYMBOLS = ["XX", ")", "(S", "(NP"]


class WordVectors(Encoder):
    """An embedding of `ids`."""

    def __init__(self, size: int = 6) -> None:
        super().__init__()
        self._embedding = torch.nn.Embedding(9, size)

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        return self._embedding(inputs["ids"])

    def get_output_dim(self) -> int:
        return self._embedding.embedding_dim


def small_parser(max_opened: int = 2, next_word: bool = True, layers: int = 1):
    """A space of two kinds of constituents, and a task-net in double precision."""
    torch.manual_seed(0)
    space = LinearTree(SYMBOLS, max_opened=max_opened)
    decoder = AttentionDecoder(
        WordVectors(), SYMBOLS, hidden_dim=8, symbol_dim=4, num_layers=layers, next_word=next_word
    )
    return space, TaskNet(decoder, space).double().eval()


def sentences(*rows: list[int]) -> dict[str, torch.Tensor]:
    """Inputs of `WordVectors`."""
    longest = max(map(len, rows))
    return {
        "ids": torch.tensor([row + [0] * (longest - len(row)) for row in rows]),
        "words": torch.tensor([[place < len(row) for place in range(longest)] for row in rows]),
    }


def all_trees(space: LinearTree, num_words: int) -> list[list[int]]:
    """The symbols of each tree over so many words that a search can come to."""
    found: list[list[int]] = []

    def go_on(prefix: TreePrefixes, symbols: list[int]) -> None:
        for symbol in prefix.allowed()[0].nonzero().flatten().tolist():
            if bool(prefix.ending) and symbol == space.close:
                found.append([*symbols, symbol])
                continue
            longer = copy.copy(prefix)
            longer.advance(torch.tensor([symbol]))
            go_on(longer, [*symbols, symbol])

    go_on(TreePrefixes(space, torch.tensor([num_words])), [])
    return found


# A tiny model of a task.

TREES = [
    "(S (NP (NNP Rose)) (VP (VBZ sells) (NP (JJ old) (NN ginger)) (PP (IN in) (NP (NNP York)))) (. .))",
    "(S (NP (NN ginger)) (VP (VBZ sells)))",
    "(NP (JJ old) (NNP York))",
]
READER = ParsingReader()


def instances_of(rows=range(3), gold=True):
    instances = []
    for row in rows:
        tree = Tree.fromstring(TREES[row])
        words, tags = map(list, zip(*tree.pos()))
        instances.append(
            READER.text_to_instance(words, linearised(tree), tags) if gold else READER.text_to_instance(words)
        )
        READER.apply_token_indexers(instances[-1])
    return instances


VOCAB = Vocabulary.from_instances(instances_of())
ENCODER = {
    "type": "attention_decoder",
    "hidden_dim": 8,
    "symbol_dim": 4,
    "source": {
        "type": "seq2seq",
        "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 5}}},
        "encoder": {"type": "lstm", "input_size": 5, "hidden_size": 4, "bidirectional": True},
    },
}
ENERGIES = [{"type": "local"}, {"type": "linear_chain"}, {"type": "tag_language_model"}]
STACKED = {
    "loss_net": {"energies": ENERGIES, "layer_dim": 6},
    "cost_augmented_net": {"type": "stacked"},
    "sampler": {"type": "stack", "samplers": ["cost_augmented_output", "task_net_output"]},
    "energy_loss": {"type": "compound", "separate": True},
    "task_loss": {"type": "inference_network"},
}


def batch_of(rows=range(3), gold=True):
    batch = Batch(instances_of(rows, gold))
    batch.index_instances(VOCAB)
    return batch.as_tensor_dict()


def model_of(**more):
    torch.manual_seed(0)
    params = {"type": "seal_parsing", "output_space": {"type": "linear_tree"}, "task_net": {"encoder": ENCODER}, **more}
    return Model.from_params(Params(copy.deepcopy(params)), vocab=VOCAB)
