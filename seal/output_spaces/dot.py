import torch


def dot(outputs: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """
    `sum_i outputs[b, k, i] vectors[b, i]` over the variables: `(batch, samples)`. At least in single precision, also
    in mixed precision: in half precision, a log-probability or a count of thousands of variables is off by whole units.
    """
    dtype = torch.promote_types(torch.promote_types(outputs.dtype, vectors.dtype), torch.float)
    with torch.autocast(outputs.device.type, enabled=False):
        return torch.einsum("bki,bi->bk", outputs.flatten(2).to(dtype), vectors.flatten(1).to(dtype))
