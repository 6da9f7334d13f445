from typing import Any, Optional, Protocol

import torch

from seal.two_player.task_state import TaskState


class Encoding(Protocol):
    """What computes features: `Objectives`."""

    def vectors(self, state: TaskState) -> Optional[torch.Tensor]: ...

    def features(self, state: TaskState, vectors: Optional[torch.Tensor] = None) -> list[Any]: ...

    def frozen_features(self, state: TaskState, vectors: Optional[torch.Tensor] = None) -> list[Any]: ...


class Features:
    """
    The loss-net's features of one batch, computed when they are first asked for and kept while they are valid. They are
    in one of three states: none; frozen, which are constants; or with their graph into the loss-net beside the
    constants, for one backward pass. The encoder's vectors, of which they are made, may be kept longer.

    In each call `nets` and `state` are those that features are computed with if need be.
    """

    def __init__(self) -> None:
        self._with_graph: Optional[list[Any]] = None
        self._frozen: Optional[list[Any]] = None
        self._vectors: Optional[torch.Tensor] = None

    def prepare(self, nets: Encoding, state: TaskState) -> None:
        """Computes them with their graph, which `take` will give, if there are none."""
        if self._frozen is None:
            self._compute(nets, state)

    def take(self, nets: Encoding, state: TaskState) -> list[Any]:
        """Those with their graph, which then is no longer kept; they are left frozen."""
        taken = self._with_graph or self._compute(nets, state)
        self._with_graph = None
        return taken

    def frozen(self, nets: Encoding, state: TaskState) -> list[Any]:
        """Constants: those of the same pass as the graph, or, if there are none, without dropout."""
        if self._frozen is None:
            self._frozen = nets.frozen_features(state, self._vectors)
        return self._frozen

    def drop(self, but_vectors: bool = False) -> None:
        """After an update that has made them stale; those of the vectors that are kept are then computed anew."""
        self._with_graph = self._frozen = None
        if not but_vectors:
            self._vectors = None

    def _compute(self, nets: Encoding, state: TaskState) -> list[Any]:
        vectors = nets.vectors(state)
        self._vectors = None if vectors is None else vectors.detach()
        self._with_graph = nets.features(state, vectors)
        self._frozen = [None if feature is None else feature.detach() for feature in self._with_graph]
        return self._with_graph
