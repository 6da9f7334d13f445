"""Trees by beam search, from a task-net whose encoder goes step by step."""

from typing import Any, NamedTuple, cast

import torch

from seal.common.precision import at_least_float
from seal.nets.encoders.attention_decoder import AttentionDecoder
from seal.nets.task_and_loss_net import TaskNet
from seal.output_spaces import LinearTree, TreePrefixes


class TreeBeam(NamedTuple):
    """
    The most probable trees that a beam search has found for each sentence of a batch, the best first.

    # Parameters

    symbols : `torch.LongTensor`, `(batch, beam, steps)`
        0 after the last step of a tree.
    mask : `torch.BoolTensor`, `(batch, beam, steps)`
        True at the steps of each tree; a filler has none.
    log_prob : `torch.Tensor`, `(batch, beam)`
        `log P(y | x)` in nats; `-inf` for a filler, where a sentence has fewer trees.
    """

    symbols: torch.Tensor
    mask: torch.Tensor
    log_prob: torch.Tensor


@torch.no_grad()
def tree_beam(task_net: TaskNet, space: LinearTree, inputs: dict[str, Any], beam: int) -> TreeBeam:
    """
    Beam search over trees: at each step the `beam` most probable beginnings of a sentence are kept, of those that can
    become a tree over all its words. Whole trees compete with each other alone, and the search ends when no beginning
    is as probable as `beam` of them. With a wide enough beam, these are the most probable trees.

    # Parameters

    task_net : `TaskNet`
        With an `AttentionDecoder` as its encoder.
    space : `LinearTree`
    inputs : `dict[str, Any]`
        What the decoder's source reads, and `words (batch, words)`, True at real words.
    beam : `int`
        At least 1; 1 is greedy.
    """
    decoder = cast(AttentionDecoder, task_net.encoder)
    source, state = decoder.read(inputs)
    batch, device = len(source.vectors), source.vectors.device
    num_words = inputs["words"].sum(dim=1)
    rows = torch.arange(batch, device=device).repeat_interleave(beam)
    source, state = source.select(rows), (state[0][:, rows], state[1][:, rows])
    prefixes = TreePrefixes(space, num_words[rows])
    # At the start all beginnings of a sentence are the same: one of them counts.
    log_prob = at_least_float(source.vectors).new_full((batch, beam), -torch.inf)
    found_log_prob = log_prob.clone()
    log_prob[:, 0] = 0.0
    symbols = torch.full((len(rows), 1), space.start, device=device)
    found = torch.zeros(batch, beam, 1, dtype=torch.long, device=device)
    lengths = torch.zeros(batch, beam, dtype=torch.long, device=device)
    first_row = torch.arange(batch, device=device).unsqueeze(1) * beam
    while bool((log_prob[:, 0] > found_log_prob[:, -1]).any()):
        num_read = (num_words[rows] - prefixes.unread).unsqueeze(1)
        vectors, state = decoder.steps(source, symbols[:, -1:], num_read, state)
        scores = at_least_float(task_net.logits_of(vectors)).squeeze(1).log_softmax(dim=-1)
        scores = (log_prob.view(-1, 1) + scores).masked_fill(~prefixes.allowed(), -torch.inf)
        # The whole trees: those that were found before, and those that end with this step.
        ends = scores[:, space.close].masked_fill(~prefixes.ending, -torch.inf).view(batch, beam)
        scores[:, space.close] = scores[:, space.close].masked_fill(prefixes.ending, -torch.inf)
        ended = torch.nn.functional.pad(symbols, (0, 1), value=space.close).view(batch, beam, -1)
        found_log_prob, kept = torch.cat([found_log_prob, ends], dim=1).topk(beam, dim=1)
        found = torch.cat([torch.nn.functional.pad(found, (0, 1)), ended], dim=1)
        found = found.gather(1, kept.unsqueeze(2).expand(-1, -1, found.shape[2]))
        lengths = torch.cat([lengths, torch.full_like(lengths, symbols.shape[1])], dim=1).gather(1, kept)
        # The beginnings of others.
        log_prob, chosen = scores.view(batch, -1).topk(beam, dim=1)
        parents = (first_row + chosen // space.num_labels).flatten()
        added = (chosen % space.num_labels).flatten()
        prefixes.select(parents)
        prefixes.advance(added)
        state = state[0][:, parents], state[1][:, parents]
        symbols = torch.cat([symbols[parents], added.unsqueeze(1)], dim=1)
    lengths = lengths * found_log_prob.isfinite()
    mask = torch.arange(found.shape[2] - 1, device=device) < lengths.unsqueeze(2)
    width = int(lengths.max()) if len(lengths) else 0
    mask = mask[:, :, :width]
    return TreeBeam(found[:, :, 1 : width + 1] * mask, mask, found_log_prob)
