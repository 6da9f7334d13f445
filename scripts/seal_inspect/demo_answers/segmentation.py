import base64
import binascii
import io
import os
import tempfile
from collections.abc import Iterator

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.models.archival import Archive

from seal_inspect.demo_alternatives import ALTERNATIVES, draws_of, rows_of
from seal_inspect.demo_answers.answers import Answers, numbers_of

_LIKELIEST = "the likeliest mask"
_DRAWS = (
    "Green is the task-net's likeliest mask, which is predicted. The others are draws from the task-net, among which "
    "the loss-net learns to tell gold. Of an image larger than what the nets read, masks and numbers here are of the "
    "part in the middle, and the energy above is the mean of all parts."
)


class MaskAnswers(Answers):
    """Answers with the foreground of an image over the image, which is given as a data URL."""

    asks = "image"
    samples = ("",)
    task = "masks"

    def __init__(self, name: str, archive: Archive) -> None:
        self._folder = tempfile.TemporaryDirectory()
        super().__init__(name, archive, folder=os.path.join(self._folder.name, "masks"))

    def answer(self, given: str) -> Iterator[JsonDict]:
        path = os.path.join(self._folder.name, "image")
        start, _, content = given.partition(",")
        try:
            if not start.startswith("data:image/"):
                raise ValueError
            with open(path, "wb") as file:
                file.write(base64.b64decode(content, validate=True))
        except (ValueError, binascii.Error) as error:
            raise ConfigurationError("choose an image, such as a PNG or a JPEG.") from error
        try:
            record = self.predictor.predict_json({"image": path})
            image = self.predictor.prepare({"image": path}).image
        except ConfigurationError as error:
            raise ConfigurationError(str(error).replace(f"{path}: ", "").replace(path, "the image")) from error
        if "error" in record:
            raise ConfigurationError(record["error"])
        files = {key: record[f"{key}_file"] for key in ("overlay", "mask")}
        pictures = {key: _data_url(file) for key, file in files.items()}
        for file in files.values():
            os.unlink(file)
        shown = {"text": record["description"], "image": given, **pictures}
        alternatives = self._alternatives(image)
        numbers = numbers_of(record)
        block = {
            "kind": "mask",
            **shown,
            "numbers": numbers,
            "alternatives": alternatives,
            "decides": None,
            "why": _DRAWS,
        }
        yield {"blocks": [block], "done": 1, "of": 1}

    @torch.no_grad()
    def _alternatives(self, image: torch.Tensor) -> list[JsonDict]:
        """The task-net's likeliest mask and draws from it, for the middle part, which the nets read at once."""
        model = self.model
        if model.inference is not None:
            return []
        state = model.task_state(**model.middle({"image": image.unsqueeze(0).to(next(model.parameters()))}))
        masks = draws_of(model, state.logits, ALTERNATIVES - 1)
        columns = {"log-probability": model.output_space.log_prob(state.logits, masks)[0]}
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energy(state, masks)[0]
        return [
            {"image": _mask_url(mask), "text": text, "chosen": text == _LIKELIEST, "numbers": row}
            for mask, text, row in zip(masks[0], [_LIKELIEST, *["a draw"] * (ALTERNATIVES - 1)], rows_of(columns))
        ]

    def _as_input(self, instance: Instance) -> str:
        from PIL import Image

        from seal.tasks.segmentation.reader import as_pixels

        path = os.path.join(self._folder.name, "example.png")
        Image.fromarray(as_pixels(instance["image"].tensor).numpy()).save(path)
        return _data_url(path)


def _mask_url(mask: torch.Tensor) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((255 * mask).byte().cpu().numpy()).save(file, "PNG")
    return _as_data_url(file.getvalue())


def _data_url(path: str) -> str:
    with open(path, "rb") as file:
        return _as_data_url(file.read())


def _as_data_url(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode()
