"""`hf.ForeachBatch`: a function of the user's own, guarded but not made exactly-once.

It has the lease, the record and the contract of every guarded stream, so that no second driver runs
beside it and no other checkpoint is taken for its own. What the function does with a batch that
comes again after a kill is the function's to know: nothing here can tell what has arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.ledger.decide import Apply, Decision

if TYPE_CHECKING:
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.sink import BeforeCommit


class ForeachBatch:
    """A function that is called with each batch, at least once."""

    def __init__(self, function: Callable[[Any, int], None], *, name: str | None = None) -> None:
        """Describe the sink.

        Args:
            function: Takes the batch and its number, as for Spark's `foreachBatch`.
            name: Its identity in the record; by default the function's name.
        """
        self._function = function
        self._name = name or str(getattr(function, "__name__", "function"))

    @property
    def name(self) -> str:
        """Its identity in the record."""
        return self._name

    @property
    def shown(self) -> str:
        """As people know it."""
        return f"the function {self._name}"

    @property
    def place(self) -> str:
        """Not known: the function's own name."""
        return f"function:{self._name}"

    @property
    def identity(self) -> str:
        """Not known: the function's own name."""
        return self.place

    @property
    def is_appending(self) -> bool:
        """Not known, so nobody else is refused."""
        return False

    def prepare(self, df: Any, *, stream: str, output_mode: str) -> ForeachBatch:
        """Return itself: what it takes is not known, and it holds nothing open."""
        del df, stream, output_mode
        return self

    def write(self, attempt: Attempt, batch: Any, *, before_commit: BeforeCommit) -> Decision:
        """Call the function."""
        del before_commit  # it has no commit that is ours
        self._function(batch, attempt.batch_id)
        return Apply()

    def close(self) -> None:
        """Do nothing: nothing is held open."""
