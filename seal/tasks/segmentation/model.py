from collections.abc import Iterable, Sequence
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model

from seal.common.setting_checks import check_range, with_parameters_of
from seal.output_spaces import BinaryMask, OutputSpace
from seal.tasks.base.scored_rows import check_scored
from seal.tasks.base.seal_model import SealModel
from seal.tasks.segmentation.mask_score import MaskScore
from seal.two_player.objectives import TaskState


class CropGrid:
    """
    Cuts an image into crops at evenly spread places, and turns values for the crops back into values for the image:
    each pixel gets the mean over the crops that contain it. The first crop of a row or column begins, and the last one
    ends, at the edge of the image.

    # Parameters

    image_size, crop_size : `tuple[int, int]`
        Height and width, in pixels; the crop is no larger than the image.
    per_side : `int`
        The number of crops in a row and in a column. It is raised where crops would leave pixels out, and is 1 in a
        direction in which image and crop have one size.
    """

    def __init__(self, image_size: tuple[int, int], crop_size: tuple[int, int], per_side: int) -> None:
        self._image_size, self._crop_size = image_size, crop_size
        rows, columns = (_places(*sides, per_side) for sides in zip(image_size, crop_size))
        self.corners: list[tuple[int, int]] = [(top, left) for top in rows for left in columns]

    def __len__(self) -> int:
        return len(self.corners)

    def cut(self, images: torch.Tensor) -> torch.Tensor:
        """Cuts `(batch, ..., H, W)` into `(batch * crops, ..., height, width)`, the crops of an image in sequence."""
        height, width = self._crop_size
        parts = [images[..., top : top + height, left : left + width] for top, left in self.corners]
        return torch.stack(parts, dim=1).flatten(0, 1)

    def mean(self, parts: torch.Tensor) -> torch.Tensor:
        """Averages values for crops, `(batch * crops, height, width)`, into values for images, `(batch, H, W)`."""
        height, width = self._crop_size
        parts = parts.unflatten(0, (-1, len(self)))
        total = parts.new_zeros(len(parts), *self._image_size)
        count = parts.new_zeros(self._image_size)
        for place, (top, left) in enumerate(self.corners):
            total[:, top : top + height, left : left + width] += parts[:, place]
            count[top : top + height, left : left + width] += 1
        return total / count


def _places(image_side: int, crop_side: int, per_side: int) -> list[int]:
    rest = image_side - crop_side
    if rest == 0:
        return [0]
    # At least two, because the image is larger than the crop.
    count = max(per_side, -(-image_side // crop_side))
    # The set drops duplicates: `per_side` may be larger than the number of different places.
    return sorted({round(rest * place / (count - 1)) for place in range(count)})


# How many parts of images go through the nets at once, outside training; memory grows with their number.
_AT_ONCE = 256


@Model.register("seal_segmentation")
class SegmentationModel(SealModel):
    """
    Segmentation of images into foreground and background (`seal_segmentation` reader). It is trained on images, or
    crops of them, of the size of its output space. A larger image is predicted in parts, whose probabilities are
    averaged where they overlap (the protocol of Gygli et al. 2017, which SEAL follows).

    # Parameters

    As for `SealModel`, except that it has no `cost_augmented_net`, no `structure` and no `score`, and

    crops_per_side : `int`, optional (default = `6`)
        The number of parts in a row and in a column of a larger image; 6 makes the protocol's 36 crops, of 24 x 24
        pixels.
    empty_iou : `float`, optional (default = `1.0`)
        The IoU, 0 to 1, of an image without foreground for which none is predicted.

    # Raises

    `ConfigurationError` if the output space is not a `binary_mask`, or an image is smaller than it.
    """

    default_predictor = "seal_segmentation"
    gold_fields = ("mask",)

    output_space: BinaryMask

    @with_parameters_of(SealModel.__init__, without=("cost_augmented_net", "structure", "score"))
    def __init__(
        self,
        vocab: Vocabulary,
        output_space: OutputSpace,
        *,
        crops_per_side: int = 6,
        empty_iou: float = 1.0,
        **settings: Any,
    ) -> None:
        if not isinstance(output_space, BinaryMask):
            raise ConfigurationError("model.output_space.type: 'seal_segmentation' predicts a 'binary_mask'.")
        check_range("model.crops_per_side", crops_per_side, least=1)
        super().__init__(vocab, output_space, **settings)
        self._crops_per_side = crops_per_side
        self._score = MaskScore(empty_iou)

    def task_state(
        self,
        image: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> TaskState:
        size = self.output_space.height, self.output_space.width
        if tuple(image.shape[-2:]) != size:
            raise ConfigurationError(
                f"model.output_space.size: {size[0]} x {size[1]}, and training images are of {image.shape[-2]} x "
                f"{image.shape[-1]}, height by width; set dataset_reader.crop to the one, or the size to the other."
            )
        inputs = {"image": image}
        # One logit a pixel.
        logits, hidden, earlier = self._task_net_output(inputs, len(image), *size, 1)
        earlier = None if earlier is None else earlier.squeeze(-1)
        return TaskState(inputs, logits.squeeze(-1), hidden, gold=mask, earlier=earlier)

    def forward(
        self,
        image: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        image : `torch.FloatTensor`, `(images, 3, H, W)`
            In the form that `seal.tasks.segmentation.reader.as_input` returns.
        mask : `torch.FloatTensor`, `(images, H, W)`, optional
            0 or 1.
        metadata : `list[dict[str, Any]]`, optional

        # Returns

        probabilities : `torch.FloatTensor`, `(images, H, W)`
            The task-net's probabilities of the foreground; or the relaxed mask that `inference` found.
        predicted : `torch.BoolTensor`, `(images, H, W)`
        energy : `torch.FloatTensor`, `(images,)`
            The energy of the predicted mask, the mean over the parts of an image, if `with_energy` is set and there is
            a loss-net.
        loss : `torch.Tensor`, a scalar
            Cross-entropy of the task-net, summed over pixels, averaged over the parts of images, where gold is given
            and the task-net predicts.
        """
        self.check_size(image)
        grid = self._grid(image)
        images = self._chunks(grid.cut(image))
        masks = [None] * len(images) if mask is None else self._chunks(grid.cut(mask))
        probabilities, losses = [], []
        for state in map(self.task_state, images, masks):
            probabilities.append(state.logits.sigmoid() if self.inference is None else self.infer(state))
            if self.inference is None and mask is not None:
                losses.append(self.output_space.cross_entropy(state.logits, self.gold(state)))
        output: dict[str, torch.Tensor] = {"probabilities": grid.mean(torch.cat(probabilities))}
        if losses:
            output["loss"] = torch.cat(losses).mean()
        if not self.training:
            output["predicted"] = output["probabilities"] >= 0.5
            if self.gives_energy:
                # With several chunks each state is computed again: all of them together may not fit into memory.
                states = [state] if len(images) == 1 else map(self.task_state, images)
                output["energy"] = self._mean_energy(grid, states, output["predicted"].unsqueeze(1)).squeeze(1)
            if mask is not None:
                # The cross-entropy of an infinite logit is infinite or no number; its probability is 0 or 1.
                scored = torch.cat(losses) if losses else output["probabilities"]
                check_scored(scored.view(len(image), -1), metadata)
                self._score(output["probabilities"], mask)
        return output

    def mask_energies(self, image: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """
        The energy of whole masks, the mean over the parts of an image.

        # Parameters

        image : `torch.FloatTensor`, `(images, 3, H, W)`
        masks : `torch.Tensor`, `(images, masks, H, W)`
            0 or 1, or between.

        # Returns

        `torch.FloatTensor`, `(images, masks)`

        # Raises

        `ConfigurationError` if an image is smaller than what the model reads.
        """
        self.check_size(image)
        grid = self._grid(image)
        return self._mean_energy(grid, map(self.task_state, self._chunks(grid.cut(image))), masks)

    def _mean_energy(self, grid: CropGrid, states: Iterable[TaskState], masks: torch.Tensor) -> torch.Tensor:
        """The energy of masks `(images, masks, H, W)`, by the states of all parts in chunks: `(images, masks)`."""
        parts = grid.cut(masks)
        energies: list[torch.Tensor] = []
        for state in states:
            done = sum(len(energy) for energy in energies)
            energies.append(self.energy(state, parts[done : done + len(state.logits)].to(state.logits)))
        return torch.cat(energies).unflatten(0, (len(masks), len(grid))).mean(dim=1)

    def score_loss_net(self, batch: dict[str, Any]) -> None:
        """As in `SealModel`, on the middle of each image, a part of the size that the nets read."""
        if batch.get("mask") is not None:
            super().score_loss_net(self.middle(batch))

    def middle(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch with the middle of each image, and of its mask if there is one, in the size that the nets read."""
        self.check_size(batch["image"])
        height, width = self.output_space.height, self.output_space.width
        top, left = (batch["image"].shape[-2] - height) // 2, (batch["image"].shape[-1] - width) // 2
        cut = {name: batch[name] for name in ("image", "mask") if batch.get(name) is not None}
        middle = {name: values[..., top : top + height, left : left + width] for name, values in cut.items()}
        return {**batch, **middle}

    def _chunks(self, parts: torch.Tensor) -> Sequence[torch.Tensor]:
        return [parts] if self.training else parts.split(_AT_ONCE)

    def _grid(self, image: torch.Tensor) -> CropGrid:
        size = self.output_space.height, self.output_space.width
        return CropGrid((image.shape[-2], image.shape[-1]), size, self._crops_per_side)

    def check_size(self, image: torch.Tensor) -> None:
        """
        # Raises

        `ConfigurationError` if `image (..., H, W)` is smaller than what the model reads.
        """
        size, found = (self.output_space.height, self.output_space.width), tuple(image.shape[-2:])
        if found[0] < size[0] or found[1] < size[1]:
            raise ConfigurationError(
                f"an image of {found[0]} x {found[1]} pixels, height by width, is smaller than the {size[0]} x "
                f"{size[1]} that the model reads; set dataset_reader.resize, and validation_dataset_reader.resize, to "
                "what it was trained on."
            )

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """
        `mean_iou`, `global_iou` and `pixel_accuracy` in percent, and the means of the training losses.
        """
        metrics = super().get_metrics(reset)
        if not self.training:
            metrics.update(self._score.get_metric(reset))
        return metrics
