"""The embedded text sample: what the committed files have."""

from pathlib import Path

import numpy

from seal.tasks.text.label_scheme import read_taxonomy_file
from seal.tasks.text.reader import TextMultilabelReader

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "text_sample"
SPLITS = ("train", "valid", "test")


def read(folder, split, **options):
    """`(text, labels)` of each note, through the reader."""
    reader = TextMultilabelReader(taxonomy=str(folder / "taxonomy.tsv"), **options)
    instances = reader.read(str(folder / f"{split}.jsonl"))
    return [(" ".join(map(str, i["tokens"].tokens)), set(i["labels"].labels)) for i in instances]


def test_notes_are_different_and_labels_are_the_lowest():
    taxonomy = read_taxonomy_file(str(DATA / "taxonomy.tsv"))
    parents = {taxonomy.labels[parent] for parent, _ in taxonomy.edges}
    texts = []
    for split in SPLITS:
        notes = read(DATA, split)
        texts += [text for text, _ in notes]
        assert all(labels and not labels & parents for _, labels in notes)
        assert all("{" not in text for text, _ in notes)
        assert not any({"thanks", "complaint"} <= labels for _, labels in notes)
        for (_, lowest), (_, closed) in zip(notes, read(DATA, split, ancestors=True)):
            assert closed == lowest | {above for label in lowest for above in taxonomy.ancestors(label)}
    assert len(set(texts)) == len(texts)
    assert any(len(taxonomy.ancestors(label)) == 2 for label in taxonomy.labels)


def test_labels_tell_of_each_other():
    """Knowing the others tells more of a label than its share alone."""
    train = [labels for _, labels in read(DATA, "train")]
    names = sorted(set().union(*train))
    assert len(names) == 18
    gold = numpy.array([[name in labels for name in names] for labels in train])
    correlation = numpy.corrcoef(gold.T)
    numpy.fill_diagonal(correlation, 0)
    assert (abs(correlation).max(axis=1) > 0.25).all()
