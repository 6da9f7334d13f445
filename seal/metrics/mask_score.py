"""Intersection over union and pixel accuracy of predicted masks."""

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.metrics import Metric

from seal.common.setting_checks import check_range
from seal.metrics.workers import gathered


@Metric.register("mask_score")
class MaskScore(Metric):
    """
    Intersection over union (IoU) of masks, from the probabilities of their pixels. Pixels of at least 0.5 are
    foreground.

    - `mean_iou`: the IoU of each image, averaged over images (the mean image IoU that SEAL reports).
    - `global_iou`: the IoU of all images together, in which large objects count more.
    - `pixel_accuracy`: the share of right pixels in all images.

    # Parameters

    empty_iou : `float`, optional (default = `1.0`)
        The IoU, 0 to 1, of an image without foreground in which none is predicted.

    # Raises

    `ConfigurationError` if `empty_iou` is not in [0, 1].
    """

    supports_distributed = True

    def __init__(self, empty_iou: float = 1.0) -> None:
        check_range("model.empty_iou", empty_iou, least=0, most=1)
        self._empty_iou = empty_iou
        self.reset()

    def reset(self) -> None:
        # The number of images and the sum of their IoU; intersection and union; right pixels and all pixels.
        self._sums = torch.zeros(6, dtype=torch.double)

    @torch.no_grad()
    def __call__(self, probabilities: torch.Tensor, gold: torch.Tensor) -> None:  # type: ignore[override]
        """
        # Parameters

        probabilities : `torch.Tensor`, `(batch, H, W)`
            In [0, 1].
        gold : `torch.Tensor`, `(batch, H, W)`
            0 or 1 of any type.

        # Raises

        `ConfigurationError` if the shapes differ.
        """
        if probabilities.dim() != 3 or probabilities.shape != gold.shape:
            raise ConfigurationError(
                "MaskScore needs probabilities and gold of the same shape (batch, H, W), found "
                f"{tuple(probabilities.shape)} and {tuple(gold.shape)}."
            )
        predicted, gold = probabilities.detach() >= 0.5, gold.detach().bool()
        intersection, union = overlap_of(predicted, gold)
        shares = image_iou(intersection, union, self._empty_iou)
        right = (predicted == gold).sum()
        # One transfer from a GPU, and not four.
        sums = torch.stack([part.sum().double() for part in (shares, intersection, union, right)]).tolist()
        self._sums += torch.tensor([len(gold), *sums, gold.numel()], dtype=torch.double)

    def get_metric(self, reset: bool = False) -> dict[str, float]:
        """
        # Parameters

        reset : `bool`, optional (default = `False`)
            Whether to sum over all distributed workers, which must all call this, and to forget the counts afterwards.

        # Returns

        `dict[str, float]`
            The scores of all images since the last reset, in percent; 0 where there were none.
        """
        workers = gathered(self._sums) if reset else [self._sums]
        images, shares, intersection, union, right, pixels = torch.stack(workers).sum(dim=0).tolist()
        if reset:
            self.reset()
        if not images:
            return {"mean_iou": 0.0, "global_iou": 0.0, "pixel_accuracy": 0.0}
        return {
            "mean_iou": 100 * shares / images,
            "global_iou": 100 * (intersection / union if union else self._empty_iou),
            "pixel_accuracy": 100 * right / pixels,
        }


def overlap_of(predicted: torch.Tensor, gold: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of pixels in the intersection and in the union of boolean masks `(batch, H, W)`: `(batch,)` each."""
    return (predicted & gold).flatten(1).sum(dim=1), (predicted | gold).flatten(1).sum(dim=1)


def image_iou(intersection: torch.Tensor, union: torch.Tensor, empty_iou: float) -> torch.Tensor:
    """The IoU of each image, `(batch,)`, in [0, 1], in double precision; `empty_iou` where the union is empty."""
    return (intersection.double() / union.clamp(min=1)).masked_fill(union == 0, empty_iou)
