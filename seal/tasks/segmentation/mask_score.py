"""Intersection over union and pixel accuracy of predicted masks."""

from collections import Counter

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training.metrics import Metric

from seal.common.setting_checks import check_range
from seal.tasks.base.running_means import SummedScore, percent


@Metric.register("mask_score")
class MaskScore(SummedScore):
    """
    Intersection over union (IoU) of masks, from the probabilities of their pixels. Pixels of at least 0.5 are
    foreground.

    - `mean_iou`: the IoU of each image, averaged over images (the mean image IoU that SEAL reports).
    - `global_iou`: the IoU of all images together, in which large objects count more.
    - `pixel_accuracy`: the share of right pixels in all images.

    All are in percent, and 0 without an image.

    # Parameters

    empty_iou : `float`, optional (default = `1.0`)
        The IoU, 0 to 1, of an image without foreground in which none is predicted.

    # Raises

    `ConfigurationError` if `empty_iou` is not in [0, 1].
    """

    def __init__(self, empty_iou: float = 1.0) -> None:
        check_range("model.empty_iou", empty_iou, least=0, most=1)
        self._empty_iou = empty_iou
        super().__init__()

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
        # One transfer from a GPU in place of four.
        sums = torch.stack([part.sum().double() for part in (shares, intersection, union, right)]).tolist()
        self._sums.update(dict(zip(("iou", "intersection", "union", "right"), sums)))
        self._sums.update(images=len(gold), pixels=gold.numel())

    def _scores(self, sums: Counter, reset: bool) -> dict[str, float]:
        empty = 100 * self._empty_iou if sums["images"] else 0.0
        return {
            "mean_iou": percent(sums["iou"], sums["images"]),
            "global_iou": percent(sums["intersection"], sums["union"]) if sums["union"] else empty,
            "pixel_accuracy": percent(sums["right"], sums["pixels"]),
        }


def overlap_of(predicted: torch.Tensor, gold: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of pixels in the intersection and in the union of boolean masks `(batch, H, W)`: `(batch,)` each."""
    return (predicted & gold).flatten(1).sum(dim=1), (predicted | gold).flatten(1).sum(dim=1)


def image_iou(intersection: torch.Tensor, union: torch.Tensor, empty_iou: float) -> torch.Tensor:
    """The IoU of each image, `(batch,)`, in [0, 1], in double precision; `empty_iou` where the union is empty."""
    return (intersection.double() / union.clamp(min=1)).masked_fill(union == 0, empty_iou)
