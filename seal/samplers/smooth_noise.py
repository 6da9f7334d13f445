import torch


def smooth_noise(like: torch.Tensor, num_fields: int, width: float) -> torch.Tensor:
    """
    Gaussian noise that neighbouring pixels share: white noise under a Gaussian blur. Each pixel's is standard
    normal, at the border too, and two pixels `d` apart have the correlation `exp(-d^2 / (4 width^2))`.

    # Parameters

    like : `torch.Tensor`, `(batch, H, W)`
        For shape, type and device.
    num_fields : `int`
        How many an instance, independent of each other.
    width : `float`
        The standard deviation of the blur, in pixels; 0 for white noise.

    # Returns

    `torch.Tensor`, `(batch, num_fields, H, W)`
    """
    batch, height, width_of_image = like.shape
    settings = {"dtype": like.dtype, "device": like.device}
    if width == 0:
        return torch.randn(batch, num_fields, height, width_of_image, **settings)
    # Noise beyond the border as well, so that the blur has as much of it there as elsewhere.
    reach = int(3 * width + 1)
    noise = torch.randn(batch, num_fields, height + 2 * reach, width_of_image + 2 * reach, **settings)
    rows, columns = _blur(height, reach, width).to(noise), _blur(width_of_image, reach, width).to(noise)
    return rows @ noise @ columns.T


def _blur(size: int, reach: int, width: float) -> torch.Tensor:
    """`(size, size + 2 reach)`: a row a pixel, its weights on the noise, of a length of 1."""
    away = torch.arange(size + 2 * reach) - reach - torch.arange(size).unsqueeze(1)
    weights = torch.exp(-0.5 * (away.double() / width).square()).masked_fill(away.abs() > reach, 0.0)
    return weights / weights.norm(dim=1, keepdim=True)
