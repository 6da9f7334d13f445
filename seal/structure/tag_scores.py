"""Scores of predicted tag sequences: F1 of spans or arguments, accuracy of tokens, exact match."""

import torch
from torch.nn import functional as F

from seal.common.tag_encodings import arguments_of
from seal.structure.scores import Ratio
from seal.structure.tag_sequences import SpansOfRows, TagScheme


class TagScorer:
    """
    Scores tags, `(batch, tokens)`, against gold, as `SrlScore` and `TaggingScore` do.

    # Parameters

    scheme : `TagScheme`
    keyed : `bool`
        Whether instances are frames: the span of the predicate, `V`, is not scored, as every output of a frame has it,
        and `seal.common.tag_encodings.arguments_of` joins the pieces of an argument.
    """

    def __init__(self, scheme: TagScheme, keyed: bool) -> None:
        self._scheme, self._keyed = scheme, keyed
        # The last entry is for -1, the role of fillers.
        self._scored = torch.tensor([*(not (keyed and role == "V") for role in scheme.roles), False])
        self._is_piece = torch.tensor([*(keyed and role[:2] == "C-" for role in scheme.roles), False])

    def f1(self, tags: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> Ratio:
        """Micro F1 of spans (of frames, of arguments); without an encoding, the accuracy of tokens."""
        if self._scheme.encoding is None:
            return Ratio(((tags == gold) & mask).sum(dim=1).double(), mask.sum(dim=1).double())
        shared, sizes = self._shared(tags, gold, mask)
        return Ratio(2 * shared, sizes.sum(dim=1))

    def exact_match(self, tags: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> Ratio:
        """The share of frames with all arguments right, as in `SrlScore`; without frames, of equal sequences."""
        if self._keyed and self._scheme.encoding is not None:
            shared, sizes = self._shared(tags, gold, mask)
            right = (sizes == shared.unsqueeze(1)).all(dim=1).double()
        else:
            right = ((tags == gold) | ~mask).all(dim=1).double()
        return Ratio.mean(right)

    def _shared(self, tags: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """
        The number of scored spans (of frames, arguments) that `tags` and `gold` share, `(batch,)`, and the number in
        each of them, `(batch, 2)`.
        """
        both = torch.stack([tags, gold], dim=1)
        shared, sizes = self.overlaps(self._scheme.spans(both, mask).of_rows(slice(None)), mask.shape[1])
        return shared[:, 0, 1].double(), sizes.double()

    def overlaps(self, spans: SpansOfRows, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        """
        The number of scored spans (of frames, arguments) that each pair of candidates shares, `(rows, candidates,
        candidates)`, and the number in each candidate, `(rows, candidates)`.
        """
        codes = self._codes(spans, tokens)
        real = codes >= 0
        # Number the codes of each instance from 0. They are few, so a product of 0-1 matrices counts shared ones.
        ordered, order = codes.flatten(1).sort(dim=1)
        number = F.pad((ordered[:, 1:] != ordered[:, :-1]).cumsum(dim=1), (1, 0))
        number = torch.empty_like(order).scatter_(1, order, number).view(codes.shape)
        size = int(number.max()) + 1 if number.numel() else 1
        # No candidate has the same span twice.
        has = torch.zeros(*codes.shape[:2], size, device=codes.device).scatter_(2, number, real.float())
        shared = has @ has.transpose(1, 2)
        return shared, real.sum(dim=-1)

    def _codes(self, spans: SpansOfRows, tokens: int) -> torch.Tensor:
        """
        A code for each span (of frames, argument), `(batch, candidates, spans)`: equal for equal ones, -1 for those
        that are not scored.
        """
        roles = self._scheme.roles
        device = spans.roles.device
        codes = spans.codes(tokens, len(roles)).masked_fill(~self._scored.to(device)[spans.roles], -1)
        # Few frames have an argument in pieces; these are recoded one by one.
        in_pieces = self._is_piece.to(device)[spans.roles].any(dim=2).nonzero(as_tuple=True)
        codes_of_joined: dict[tuple, int] = {}
        recoded = []
        for frame in torch.stack(
            [spans.roles[in_pieces], spans.first[in_pieces], spans.last[in_pieces]], dim=2
        ).tolist():
            arguments = arguments_of([(roles[role], first, last) for role, first, last in frame if role >= 0])
            frame_codes = [-1] * len(frame)
            for place, argument in enumerate(arguments):
                name, first, last, *pieces = argument
                if pieces or name not in roles:
                    new_code = tokens * tokens * len(roles) + len(codes_of_joined)
                    frame_codes[place] = codes_of_joined.setdefault(argument, new_code)
                else:
                    frame_codes[place] = (first * tokens + last) * len(roles) + roles.index(name)
            recoded.append(frame_codes)
        if recoded:
            codes[in_pieces] = torch.tensor(recoded, device=device)
        return codes
