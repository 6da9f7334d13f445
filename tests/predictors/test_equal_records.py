"""One input has the same records from a file, packed or not, and from standard input, for every task."""

import bz2
import gzip
import io
import json
import lzma
import sys

import pytest
from allennlp.commands.predict import _PredictManager
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seal.dataset_readers.srl import SrlReader
from seal.predictors import SrlPredictor
from tests.predictors.multilabel_nets import predictor as features_predictor
from tests.predictors.test_segmentation import predictor as segmentation_predictor
from tests.predictors.test_tagging import predictor_of as tagging_predictor
from tests.predictors.test_text_multilabel import predictor_of as text_predictor
from tests.segmentation import write_npz
from tests.spine import srl_model


def srl_predictor():
    return SrlPredictor(srl_model().eval(), SrlReader())


PREDICTORS = {
    "tagging": tagging_predictor,
    "srl": srl_predictor,
    "texts": text_predictor,
    "features": features_predictor,
    "segmentation": segmentation_predictor,
}
SENTENCES = ["Rose sells ginger!", "She cut it .", "red kite", "Zürich \U0001f600 left", "[laughs] he said", "[1]"]
JSON = {
    "tagging": [{"words": ["Rose", "\u00a0"], "id": 1}, {"sentence": "Rose\u2028sells"}, {"words": []}],
    "srl": [{"words": ["She", "left"], "predicates": [1]}, {"sentence": "She\x85left"}],
    "texts": [{"text": "sea\u2029kite", "id": 2}, {"tokens": ["sea"]}],
    "features": [{"features": [1, 2, 3]}, {"features": {"size": 1}, "id": "é"}, {"features": [1, None, 3]}],
    "segmentation": [{"images": "data.npz", "row": 2}, {"images": "data.npz", "row": 99}],
}
ENDS = ["\n", "\n", "\r\n", "\n\n", "\n \t\n", "\r\n\r\n"]
# All that Python or another program may take for the end of a line, blanks, and other characters.
SIGNS = st.sampled_from(list("\r\x0b\x0c\x1c\x1e\x85\u2028\u2029 \t\u00a0\u200b"))
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n")
WORDS = st.one_of(st.text(CHARACTERS, max_size=5), SIGNS)


def records(predictor, path, monkeypatch, text=None):
    if text is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    written = []
    predictor.lines = predictor.wrong_lines = 0
    manager = _PredictManager(predictor, str(path), None, 3, False, False)
    manager._maybe_print_to_console_and_file = lambda index, prediction, *_: written.append(prediction)
    try:
        manager.run()
    except Exception as error:  # The same error, too.
        return str(error).replace(str(path), "INPUT").replace("standard input", "INPUT")
    return [json.loads(record) for record in written]


@pytest.mark.parametrize("task", PREDICTORS)
def test_records_do_not_depend_on_how_the_input_comes(task, tmp_path, monkeypatch):
    predictor = PREDICTORS[task]()
    write_npz(tmp_path)
    monkeypatch.chdir(tmp_path)
    packings = {"": lambda data: data, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    a_line = st.one_of(
        st.sampled_from(SENTENCES),
        st.sampled_from([json.dumps(item, ensure_ascii=False) for item in JSON[task]]),
        st.lists(WORDS, min_size=1, max_size=4).map("".join),
    )

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(a_line, st.sampled_from(ENDS)), max_size=5), st.booleans())
    def check(lines, has_mark):
        text = "\ufeff" * has_mark + "".join(line + end for line, end in lines)
        data = text.encode()
        expected = records(predictor, "-", monkeypatch, data)
        for ending, pack in packings.items():
            path = tmp_path / f"input.txt{ending}"
            path.write_bytes(pack(data))
            assert records(predictor, path, monkeypatch) == expected
        # One record for each line that is not blank.
        rows = [row for row in text.removeprefix("\ufeff").split("\n") if row and not row.isspace()]
        assert isinstance(expected, str) or len(expected) == len(rows)

    check()


def test_only_line_feeds_end_a_line(tmp_path, monkeypatch):
    data = b"Good work\ron the park\nBest\n"
    predictor = text_predictor()
    (tmp_path / "lines.txt").write_bytes(data)
    (tmp_path / "lines.txt.gz").write_bytes(gzip.compress(data))
    for path, text in ((tmp_path / "lines.txt", None), (tmp_path / "lines.txt.gz", None), ("-", data)):
        assert len(records(predictor, path, monkeypatch, text)) == 2
    # As in the reader of training.
    (tmp_path / "lines.tsv").write_bytes(data.replace(b"\n", b"\ta\n"))
    assert len(list(predictor._dataset_reader.texts(str(tmp_path / "lines.tsv")))) == 2
