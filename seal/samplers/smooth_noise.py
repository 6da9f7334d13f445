import torch


def smooth_noise(like: torch.Tensor, num_fields: int, width: float) -> torch.Tensor:
    """
    Gaussian noise that is correlated between neighbouring pixels: white noise, smoothed by a Gaussian blur. The noise
    of each pixel is standard normal, at the border too, and two pixels `d` apart have the correlation
    `exp(-d^2 / (4 width^2))`.

    # Parameters

    like : `torch.Tensor`, `(batch, H, W)`
        A tensor of the shape, type and device.
    num_fields : `int`
        The number of independent noise fields of each instance.
    width : `float`
        The standard deviation of the blur, in pixels; 0 for white noise.

    # Returns

    `torch.Tensor`, `(batch, num_fields, H, W)`
    """
    batch, height, width_of_image = like.shape
    if width == 0:
        return torch.randn(batch, num_fields, height, width_of_image, dtype=like.dtype, device=like.device)
    # There is noise beyond the border as well, so that the blur averages over as much of it there as elsewhere.
    reach = int(3 * width + 1)
    size = (batch, num_fields, height + 2 * reach, width_of_image + 2 * reach)
    noise = torch.randn(size, dtype=like.dtype, device=like.device)
    rows, columns = _blur(height, reach, width).to(noise), _blur(width_of_image, reach, width).to(noise)
    return rows @ noise @ columns.T


def _blur(size: int, reach: int, width: float) -> torch.Tensor:
    """The weights of the noise in each pixel, `(size, size + 2 reach)`; each row has norm 1."""
    away = torch.arange(size + 2 * reach) - reach - torch.arange(size).unsqueeze(1)
    weights = torch.exp(-0.5 * (away.double() / width).square()).masked_fill(away.abs() > reach, 0.0)
    return weights / weights.norm(dim=1, keepdim=True)
