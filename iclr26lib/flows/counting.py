"""Counting network passes, the cost that does not depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from .interface import check_velocity, replicas_of


@dataclass
class Tally:
    """Rows that went through a network, forward and backward; several counted models may share one."""

    forward_rows: int = 0
    backward_rows: int = 0

    @property
    def passes(self) -> int:
        """Forward and backward rows together."""
        return self.forward_rows + self.backward_rows

    def reset(self) -> None:
        """Start again from nothing."""
        self.forward_rows = self.backward_rows = 0


class Counted(nn.Module):
    """A model that counts its passes in rows: one a row going forward, one more when a gradient comes back."""

    def __init__(self, model: nn.Module, tally: Tally | None = None):
        """model: computes. tally: where to count, shared with other models; its own when None.

        A deep copy counts in a tally of its own. Raises TypeError for a model that is counted already.
        """
        super().__init__()
        if isinstance(model, Counted) or not isinstance(model, nn.Module):
            raise TypeError(f"need a model that is not counted yet, got {type(model).__name__}")
        self.model, self.tally = model, Tally() if tally is None else tally
        self.shape, self.prompts, self.replicas = model.shape, model.prompts, replicas_of(model)

    def forward(self, x: Tensor, t: Tensor, c: Tensor) -> Tensor:
        """Velocities (B, *shape) of the model at x (B, *shape), t (B,), c (B,), counted.

        Raises ValueError for a model that returns another shape.
        """
        v, tally, rows = check_velocity(self.model(x, t, c), x), self.tally, len(x)
        tally.forward_rows += rows

        def came_back(_: Tensor) -> None:
            tally.backward_rows += rows

        if v.requires_grad:
            v.register_hook(came_back)
        return v

    @property
    def forward_rows(self) -> int:
        """Rows that went forward."""
        return self.tally.forward_rows

    @property
    def backward_rows(self) -> int:
        """Rows that a gradient came back through."""
        return self.tally.backward_rows

    @property
    def passes(self) -> int:
        """Forward and backward rows together."""
        return self.tally.passes

    def reset(self) -> None:
        """Start counting again from nothing, in every model that shares the tally."""
        self.tally.reset()
