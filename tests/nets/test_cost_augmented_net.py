import torch
from allennlp.common import Params

from seal.nets import CostAugmentedNet, TaskNetOutput
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence

BATCH, TOKENS, TAGS, DIM = 2, 3, 4, 5


def net_of(kind, space, **settings):
    torch.manual_seed(0)
    params = Params({"type": kind, **settings})
    return CostAugmentedNet.from_params(params, output_space=space, task_net_dim=DIM).double()


def task_net_output():
    torch.manual_seed(1)
    shapes = (BATCH, TOKENS, TAGS), (BATCH, TOKENS, DIM)
    return TaskNetOutput(*(torch.randn(shape, dtype=torch.double, requires_grad=True) for shape in shapes))


GOLD, MASK = torch.tensor([[0, 3, 1], [2, 0, 0]]), mask_of([3, 1])


def test_stacked_is_an_affine_map_of_both_at_each_token():
    output, net = task_net_output(), net_of("stacked", tag_sequence(TAGS))
    logits = net({}, output, GOLD, MASK)
    weight, bias = (parameter.detach() for parameter in net.parameters())
    assert weight.shape == (TAGS, 2 * TAGS) and logits.shape == (BATCH, TOKENS, TAGS)
    for row, token in [(0, 0), (0, 1), (0, 2), (1, 0)]:
        a = output.logits[row, token].exp()
        gold = torch.zeros(TAGS, dtype=torch.double)
        gold[GOLD[row, token]] = 1
        wanted = weight @ torch.cat([a / a.sum(), gold]) + bias
        torch.testing.assert_close(logits[row, token], wanted)


def test_stacked_gives_the_task_net_no_gradient():
    output, net = task_net_output(), net_of("stacked", tag_sequence(TAGS))
    logits = net({}, output, GOLD, MASK)
    found = torch.autograd.grad(logits.square().sum(), [*output[:2], *net.parameters()], allow_unused=True)
    assert found[:2] == (None, None) and all(gradient.abs().sum() > 0 for gradient in found[2:])


def test_stacked_over_a_sequence_encoder_sees_neighbours_but_no_padding():
    lstm = {"type": "lstm", "input_size": 2 * TAGS, "hidden_size": 3, "bidirectional": True}
    output, net = task_net_output(), net_of("stacked", tag_sequence(TAGS), encoder=lstm)
    logits = net({}, output, GOLD, MASK)
    other = GOLD.clone()
    other[0, 0], other[1, 2] = 1, 3  # A real token of one row, and padding of the other.
    changed = net({}, output, other, MASK)
    assert not torch.equal(logits[0, 2], changed[0, 2]) and torch.equal(logits[1, 0], changed[1, 0])


def test_stacked_sees_all_labels_of_a_set():
    space = label_set(TAGS)
    output = TaskNetOutput(torch.zeros(BATCH, TAGS, dtype=torch.double), None)
    gold = torch.tensor([[1, 0, 0, 1], [0, 0, 1, 0]])
    net = net_of("stacked", space)
    weight, bias = (parameter.detach() for parameter in net.parameters())
    wanted = torch.cat([torch.full((BATCH, TAGS), 0.5, dtype=torch.double), gold.double()], dim=1) @ weight.T + bias
    torch.testing.assert_close(net({}, output, gold), wanted)


def test_shared_trains_the_encoder_below():
    output, net = task_net_output(), net_of("shared", tag_sequence(TAGS))
    logits = net({}, output, GOLD, MASK)
    weight, bias = net.parameters()
    torch.testing.assert_close(logits, output.hidden @ weight.T + bias)
    assert torch.autograd.grad(logits.sum(), output.hidden)[0].abs().sum() > 0


def test_separated_has_its_own_encoder():
    encoder = {"type": "feature_mlp", "input_dim": 6, "hidden_dim": 7, "num_layers": 2}
    output, net = task_net_output(), net_of("separated", label_set(TAGS), encoder=encoder)
    features = torch.randn(BATCH, 6, dtype=torch.double)
    logits = net({"features": features}, output, torch.ones(BATCH, TAGS))
    assert logits.shape == (BATCH, TAGS)
    assert torch.autograd.grad(logits.sum(), output[:2], allow_unused=True) == (None, None)
    # Affine maps 6 -> 7 -> 7 -> 4.
    assert sum(parameter.numel() for parameter in net.parameters()) == 7 * 7 + 8 * 7 + 8 * 4
