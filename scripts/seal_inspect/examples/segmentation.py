from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance

from seal.tasks.segmentation.reader import as_pixels
from seal_inspect.examples.examiner import NO_GOLD, Examiner
from seal_inspect.findings import Example, Picture, energy_gap
from seal_inspect.significance import Statistic, mean_of

_PICTURES = 6


class MaskExaminer(Examiner):
    """Examines masks. Each pixel is a decision."""

    def statistics(self) -> dict[str, Statistic]:
        return {"mean_iou": mean_of("iou", "images")}

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        if "mask" not in batch:
            raise ConfigurationError(NO_GOLD)
        output, gold = self._model(**batch), batch["mask"].bool().cpu().numpy()
        energies: list[list[float]] = [[] for _ in instances]
        if self._model.loss_net is not None:
            both = torch.stack([batch["mask"].bool(), output["predicted"]], dim=1)
            energies = self._model.mask_energies(batch["image"], both).tolist()
        probabilities, predicted = output["probabilities"].cpu().numpy(), output["predicted"].cpu().numpy()
        self.found.confidences.append(probabilities.ravel())
        self.found.hits.append(gold.ravel())
        for instance, wanted, found, numbers in zip(instances, gold, predicted, energies):
            union = (wanted | found).sum()
            iou = 100 * float((wanted & found).sum() / union) if union else 100.0
            source = instance["metadata"].metadata["source"] if "metadata" in instance.fields else ""
            image = as_pixels(instance["image"].tensor).numpy() / 255
            picture, right = Picture(source, image, wanted, found, iou, *numbers), bool((wanted == found).all())
            self.found.pictures.append(picture)
            sizes = f"{wanted.sum()} pixels", f"{found.sum()} pixels, IoU {iou:.1f}"
            self.found.examples.append(Example(source, "", *sizes, right, None, *numbers))
            if not right and numbers and energy_gap(picture) < 0:
                self.found.preferred.append(picture)
            self.found.count(source, str(wanted.sum()), iou=iou / 100, images=1)
        # Of a large file, images are not all kept.
        self.found.pictures = sorted(self.found.pictures, key=lambda picture: picture.iou)[:_PICTURES]
        self.found.preferred = sorted(self.found.preferred, key=energy_gap)[:_PICTURES]
