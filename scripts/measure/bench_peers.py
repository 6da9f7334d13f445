"""
Chains over tags beside those of other libraries: pytorch-crf, torch-struct and AllenNLP's module, with the same scores,
on whole batches without padding. What a library does not offer is left out.
"""

from collections.abc import Callable

import torch
from allennlp.data import Vocabulary
from allennlp.modules import ConditionalRandomField

from scripts.measure.bench_rows import Row, seconds_rows
from scripts.measure.bench_timing import interleaved
from seal.output_spaces import CrfTagSequence
from seal.registry import ConfigurationError

#: (sequences, tokens, tags) of a batch.
CELLS = ((32, 20, 9), (32, 40, 33), (64, 128, 130))
#: How many of the best sequences.
K = 5
#: The most bytes that torch-struct's potentials, (batch, tokens, tags, tags), may take: beyond it takes minutes.
MOST = 2**23

Works = dict[str, dict[str, Callable[[], object]]]


def peers(repeats: int) -> list[Row]:
    """
    Seconds of each operation for each library, over ours.

    # Raises

    `ConfigurationError` where a library is not installed.
    """
    rows = []
    for cell in CELLS:
        for operation, cases in _works(*cell).items():
            timings = interleaved(cases, repeats)
            rows += seconds_rows("chains", f"{operation}, {'x'.join(map(str, cell))}", timings, 1, "seal")
    return rows


def _works(batch: int, tokens: int, tags: int) -> Works:
    try:
        import torch_struct
        from torchcrf import CRF
    except ImportError as error:
        raise ConfigurationError(f"{error.name} is a library to compare with: see requirements-measure.txt.") from error
    torch.manual_seed(0)
    emissions = torch.randn(batch, tokens, tags, requires_grad=True)
    gold = torch.randint(tags, (batch, tokens))
    mask = torch.ones(batch, tokens, dtype=torch.bool)
    vocab = Vocabulary(tokens_to_add={"tags": [f"t{tag}" for tag in range(tags)]}, non_padded_namespaces=["tags"])
    ours, theirs, stock = (
        CrfTagSequence(vocab, encoding=None),
        CRF(tags, batch_first=True),
        ConditionalRandomField(tags),
    )
    stock.load_state_dict(theirs.state_dict(), strict=False)
    ours.crf.load_state_dict(theirs.state_dict())
    size = batch * tokens * tags * tags * 4

    def potentials() -> torch.Tensor:
        # (batch, tokens - 1, to, from), with the first token's scores in those of the first pair.
        rest = torch.cat([emissions[:, 1:-1], emissions[:, -1:] + theirs.end_transitions], dim=1)
        pairs = rest.unsqueeze(3) + theirs.transitions.t()
        first = (emissions[:, 0] + theirs.start_transitions).unsqueeze(1).unsqueeze(1)
        return torch.cat([pairs[:, :1] + first, pairs[:, 1:]], dim=1)

    def struct() -> "torch_struct.LinearChainCRF":
        return torch_struct.LinearChainCRF(potentials())

    works: Works = {
        "loss and gradient": {
            "seal": lambda: ours.cross_entropy(emissions, gold, mask).sum().backward(),
            "pytorch-crf": lambda: (-theirs(emissions, gold, mask)).backward(),
            "AllenNLP": lambda: (-stock(emissions, gold, mask)).backward(),
        },
        "best sequence": {
            "seal": lambda: ours.decode(emissions.detach(), mask),
            "pytorch-crf": lambda: theirs.decode(emissions.detach(), mask),
            "AllenNLP": lambda: stock.viterbi_tags(emissions.detach(), mask),
        },
        f"{K} best sequences": {
            "seal": lambda: ours.k_best(emissions.detach(), K, mask),
            "AllenNLP": lambda: stock.viterbi_tags(emissions.detach(), mask, top_k=K),
        },
        "marginals": {"seal": lambda: ours.relax(emissions.detach(), mask)},
    }
    if size <= MOST:
        works["loss and gradient"]["torch-struct"] = lambda: struct().partition.sum().backward()
        works["best sequence"]["torch-struct"] = lambda: struct().argmax
        works["marginals"]["torch-struct"] = lambda: struct().marginals
    if size * K * K <= MOST:
        works[f"{K} best sequences"]["torch-struct"] = lambda: struct().topk(K)
    return works
