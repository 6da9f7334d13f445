from typing import Callable

import torch


def largest_eigenvalue(
    product: Callable[[torch.Tensor], torch.Tensor],
    start: torch.Tensor,
    max_steps: int,
    tolerance: float = 0.01,
) -> float:
    """
    The largest size of an eigenvalue of a symmetric matrix `A`, by power iteration: `|A u|` with
    `u <- A u / |A u|`, an estimate from below that never falls.

    It starts from a given vector and not from a random one, so that it is the same at every run; a series that
    starts from the same vector feels just the eigenvalues that this one finds, and no others.

    # Parameters

    product : `Callable[[torch.Tensor], torch.Tensor]`
        `p` to `A p`.
    start : `torch.Tensor`, `(size,)`
        Not zero.
    max_steps : `int`
        The most products, at least 1.
    tolerance : `float`, optional (default = `0.01`)
        It ends once a step raises the estimate by no more than this fraction.

    # Returns

    `float`, at least 0
    """
    estimate = 0.0
    vector = start / torch.linalg.vector_norm(start)
    for _ in range(max_steps):
        image = product(vector)
        last, estimate = estimate, float(torch.linalg.vector_norm(image))
        if estimate <= last * (1 + tolerance):
            break
        vector = image / estimate
    return estimate
