import tarfile

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tests.multilabel import ATTRIBUTES, ENCODER, LABELS, LOSS_NET, TASK_NET, model, seal_parts, vocabulary


def save(folder, net, archive=False):
    folder.mkdir()
    net.vocab.save_to_files(str(folder / "vocabulary"))
    torch.save(net.float().state_dict(), folder / ("weights.th" if archive else "best.th"))
    if not archive:
        return str(folder)
    path = folder.parent / "model.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for part in ("vocabulary", "weights.th"):
            tar.add(folder / part, arcname=part)
    return str(path)


@pytest.mark.parametrize("archive", [False, True])
def test_a_net_starts_from_the_weights_of_an_earlier_run(tmp_path, archive):
    trained = model(seed=3, **seal_parts())
    path = save(tmp_path / "run", trained, archive)
    fresh = model(seed=4, **seal_parts())
    static = model(seed=4, **seal_parts(loss_net={**LOSS_NET, "pretrained_file": path}))
    for name, value in trained.loss_net.state_dict().items():
        assert torch.equal(static.loss_net.state_dict()[name].float(), value.float()), name
    # The rest is as it would be without.
    for name, value in fresh.task_net.state_dict().items():
        assert torch.equal(static.task_net.state_dict()[name], value), name
    noise = model(seed=4, **seal_parts(task_net={**TASK_NET, "pretrained_file": path}))
    for name, value in trained.task_net.state_dict().items():
        assert torch.equal(noise.task_net.state_dict()[name].float(), value.float()), name


def test_what_does_not_fit_is_told(tmp_path):
    trained = save(tmp_path / "run", model(**seal_parts()))
    alone = save(tmp_path / "alone", model())
    turned, fewer = vocabulary(labels=reversed(LABELS)), vocabulary(labels=LABELS[1:])
    reordered = vocabulary(attributes=reversed(ATTRIBUTES))

    def build(message, path, vocab=None, **settings):
        with pytest.raises(ConfigurationError, match=f"model.loss_net.pretrained_file: {message}"):
            model(vocab=vocab or vocabulary(), **seal_parts(loss_net={**LOSS_NET, "pretrained_file": path, **settings}))

    build("'.*nowhere'", str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    build(".*empty", str(tmp_path / "empty"))
    (tmp_path / "text").write_text("no archive")
    build("'.*text'", str(tmp_path / "text"))
    build(".*loss_net", alone)
    build("'.*run'.*order", trained, vocab=turned)
    build(".*labels of '.*run'", trained, vocab=fewer)
    build(".*'attribute_labels'", trained, vocab=reordered)
    build("'encoder.*'", trained, encoder={**ENCODER, "hidden_dim": 6})
    build(".*absent", trained, encoder={**ENCODER, "num_layers": 2})
