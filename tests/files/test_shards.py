import pytest

from seal.files.shards import Shard, shard_of


@pytest.mark.parametrize("total", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_shards_have_every_line_once_and_in_order(total, count):
    shards = [Shard(number, count).lines(total) for number in range(1, count + 1)]
    assert [place for places in shards for place in places] == list(range(total))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_a_shard_is_written_as_its_number_and_that_of_all():
    assert shard_of("2/8") == Shard(2, 8)
    for wrong in ("", "2", "0/8", "9/8", "1/0", "-1/8", "1/8/2", "a/b", "1.0/2", "²/8", "1/²", "1/" + "9" * 5000):
        with pytest.raises(ValueError, match="such as 1/8"):
            shard_of(wrong)
