"""
Chains over tags beside the chains of other libraries: pytorch-crf, TorchCRF, torch-struct and AllenNLP's module, with
equal scores, on whole batches without padding. Operations that a library lacks are left out.
"""

import multiprocessing
from collections.abc import Callable

import torch
from allennlp.data import Vocabulary
from allennlp.modules import ConditionalRandomField
from torch.nn.functional import one_hot

from scripts.measure.bench_rows import Row, memory_rows, seconds_rows
from scripts.measure.bench_timing import interleaved
from scripts.measure.peak_memory import peaks_of
from seal.output_spaces import CrfTagSequence
from seal.registry import ConfigurationError

#: (sequences, tokens, tags) of a batch. Of the largest, peak memory is measured, too.
LARGEST = (64, 128, 130)
CELLS = ((32, 20, 9), (32, 40, 33), LARGEST)
#: How many of the best sequences.
K = 5
#: The most bytes that torch-struct's potentials, (batch, tokens, tags, tags), may take: beyond it takes minutes.
MOST = 2**23
SIZE = "{}x{}x{}".format

Works = dict[str, dict[str, Callable[[], object]]]


def peers(repeats: int) -> list[Row]:
    """
    Seconds of each operation for each library, over ours; and of the largest batch the peak memory. Raises
    `ConfigurationError` where a library is not installed.
    """
    rows = []
    # The largest first: a process that is forked of one that has done nothing yet reuses no memory of its.
    for cell in sorted(CELLS, reverse=True):
        works = _works(*cell)
        if cell == LARGEST:
            for operation, cases in works.items():
                held = {library: _peaks_of(case) for library, case in cases.items()}
                of_memory = memory_rows("chains", held, "seal")
                rows += [row._replace(case=f"memory of {operation}, {SIZE(*cell)}") for row in of_memory]
        for operation, cases in works.items():
            timings = interleaved(cases, repeats)
            rows += seconds_rows("chains", f"{operation}, {SIZE(*cell)}", timings, 1, "seal")
    return rows


def _peaks_of(case: Callable[[], object]) -> dict[str, float]:
    """The peak memory of a fork of this process that runs `case` once, and its increase."""
    receives, sends = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=lambda: sends.send(peaks_of(case)))
    process.start()
    found = receives.recv()
    process.join()
    return found


def _works(batch: int, tokens: int, tags: int) -> Works:
    try:
        import torch_struct
        import TorchCRF
        import torchcrf
    except ImportError as error:
        raise ConfigurationError(f"{error.name} is a library to compare with: see requirements-measure.txt.") from error
    torch.manual_seed(0)
    emissions = torch.randn(batch, tokens, tags, requires_grad=True)
    gold = torch.randint(tags, (batch, tokens))
    mask = torch.ones(batch, tokens, dtype=torch.bool)
    vocab = Vocabulary(tokens_to_add={"tags": [f"t{tag}" for tag in range(tags)]}, non_padded_namespaces=["tags"])
    ours, theirs, stock, other = (
        CrfTagSequence(vocab, encoding=None),
        torchcrf.CRF(tags, batch_first=True),
        ConditionalRandomField(tags),
        TorchCRF.CRF(tags),
    )
    stock.load_state_dict(theirs.state_dict(), strict=False)
    ours.crf.load_state_dict(theirs.state_dict())
    names = {"trans_matrix": "transitions", "start_trans": "start_transitions", "end_trans": "end_transitions"}
    other.load_state_dict({name: theirs.state_dict()[theirs_name] for name, theirs_name in names.items()})
    size = batch * tokens * tags * tags * 4

    def potentials() -> torch.Tensor:
        # (batch, tokens - 1, to, from), with the first token's scores in those of the first pair.
        rest = torch.cat([emissions[:, 1:-1], emissions[:, -1:] + theirs.end_transitions], dim=1)
        pairs = rest.unsqueeze(3) + theirs.transitions.t()
        first = (emissions[:, 0] + theirs.start_transitions).unsqueeze(1).unsqueeze(1)
        return torch.cat([pairs[:, :1] + first, pairs[:, 1:]], dim=1)

    def struct() -> "torch_struct.LinearChainCRF":
        return torch_struct.LinearChainCRF(potentials())

    def by_gradient(log_likelihood: Callable[..., torch.Tensor]) -> Callable[[], torch.Tensor]:
        # Marginals of a library that has none: of log P(y | x) the gradient is gold, one-hot, less these.
        def marginals() -> torch.Tensor:
            (gradient,) = torch.autograd.grad(log_likelihood(emissions, gold, mask).sum(), emissions)
            return one_hot(gold, tags) - gradient

        return marginals

    works: Works = {
        "loss and gradient": {
            "seal": lambda: ours.cross_entropy(emissions, gold, mask).sum().backward(),
            "pytorch-crf": lambda: (-theirs(emissions, gold, mask)).backward(),
            "TorchCRF": lambda: (-other(emissions, gold, mask).sum()).backward(),
            "AllenNLP": lambda: (-stock(emissions, gold, mask)).backward(),
        },
        "best sequence": {
            "seal": lambda: ours.decode(emissions.detach(), mask),
            "pytorch-crf": lambda: theirs.decode(emissions.detach(), mask),
            "TorchCRF": lambda: other.viterbi_decode(emissions.detach(), mask),
            "AllenNLP": lambda: stock.viterbi_tags(emissions.detach(), mask),
        },
        f"{K} best sequences": {
            "seal": lambda: ours.k_best(emissions.detach(), K, mask),
            "AllenNLP": lambda: stock.viterbi_tags(emissions.detach(), mask, top_k=K),
        },
        "marginals": {
            "seal": lambda: ours.relax(emissions.detach(), mask),
            "pytorch-crf": by_gradient(theirs),
            "TorchCRF": by_gradient(other),
            "AllenNLP": by_gradient(stock),
        },
    }
    if size <= MOST:
        works["loss and gradient"]["torch-struct"] = lambda: struct().partition.sum().backward()
        works["best sequence"]["torch-struct"] = lambda: struct().argmax
        works["marginals"]["torch-struct"] = lambda: struct().marginals
    if size * K * K <= MOST:
        works[f"{K} best sequences"]["torch-struct"] = lambda: struct().topk(K)
    return works
