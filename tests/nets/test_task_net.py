import torch
from allennlp.common import Params

from seal.nets import TaskNet
from tests.spine import VOCAB, encoder_params, srl_batch, tag_sequence


def task_net(**more):
    torch.manual_seed(0)
    params = Params({"encoder": encoder_params(), **more})
    return TaskNet.from_params(params, vocab=VOCAB, output_space=tag_sequence(3)).double()


def test_logits_are_linear_in_the_vectors():
    net, batch = task_net().eval(), srl_batch()
    output = net(batch)
    assert torch.equal(output.hidden, net.encoder(batch)) and net.get_output_dim() == 8
    weight, bias = net._head.weight, net._head.bias
    for b in range(5):
        for t in range(output.hidden.shape[1]):
            assert torch.allclose(output.logits[b, t], weight @ output.hidden[b, t] + bias)


def test_label_embeddings_without_bias():
    names = dict(task_net(bias=False).named_parameters())
    assert [name for name in names if name.startswith("_head")] == ["_head.weight"]
    assert "_head.bias" in dict(task_net().named_parameters())


def test_the_last_layer():
    net = task_net()
    assert [id(p) for p in net.last_layer_parameters()] == [id(net.label_weights), id(net.label_bias)]
    net = task_net(bias=False)
    assert [id(p) for p in net.last_layer_parameters()] == [id(net.label_weights)]


def test_a_net_of_another_make_may_have_no_last_layer():
    class EncoderAlone(TaskNet):
        def __init__(self, encoder):
            torch.nn.Module.__init__(self)
            self.encoder = encoder

    assert EncoderAlone(task_net().encoder).last_layer_parameters() == []


def test_dropout_is_for_training():
    net, batch = task_net(dropout=0.5), srl_batch([0])
    assert not torch.equal(net(batch).logits, net(batch).logits)
    net.eval()
    assert torch.equal(net(batch).logits, net(batch).logits)
