"""The record of a prediction, which shows itself as a picture in a notebook."""

from typing import Any

from seal.tasks.base.record_pictures import html_of


class Record(dict[str, Any]):
    """What is predicted for an input: an object as `seal predict` writes it. A notebook shows it as a picture."""

    @property
    def sentences(self) -> list["Record"]:
        """The records of the sentences of a text: of a text of one sentence, this record alone."""
        return [Record(record) for record in self["sentences"]] if "sentences" in self else [self]

    def _repr_html_(self) -> str:
        return html_of(self)
