import argparse

import pytest

from seal_inspect.archives import add_arguments, archive_of, loader_of


@pytest.fixture
def arguments(tagger, tagged):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args([str(tagger("tagging_cross_entropy")), str(tagged), "--output", "out"])


def lengths(loader):
    return [len(sentence["tags"]) for batch in loader for sentence in batch["metadata"]]


def test_rows_come_as_validation_or_the_file_has_them(arguments):
    archive = archive_of(arguments)
    in_file = [len(block.splitlines()) for block in open(arguments.input_file).read().strip().split("\n\n")]
    bucketed = lengths(loader_of(archive, arguments.input_file))
    # The config's bucket sampler puts sentences of similar length together; `in_order` keeps the order of the file.
    assert sorted(bucketed) == sorted(in_file) and bucketed != in_file
    assert lengths(loader_of(archive, arguments.input_file, in_order=True)) == in_file


def test_a_loader_that_is_a_name_alone(arguments):
    archive = archive_of(arguments)
    archive.config.params.update(data_loader="multiprocess", validation_data_loader=None)
    expected = lengths(loader_of(archive_of(arguments), arguments.input_file, in_order=True))
    assert lengths(loader_of(archive, arguments.input_file, in_order=True)) == expected
    with pytest.raises(ValueError, match="batch_size"):  # AllenNLP's own, about a loader without any setting.
        loader_of(archive, arguments.input_file)
