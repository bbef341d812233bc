"""`hf.ForeachBatch`: a function of the user's own, guarded but not made exactly-once.

It has the lease, the record and the contract of every guarded stream, so that no second driver runs
beside it and no other checkpoint is taken for its own. What the function does with a batch that
comes again after a kill is the function's to know: nothing here can tell what has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

from holdfast.errors import ConfigError
from holdfast.ledger.decide import Apply, Decision
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.sink import SinkSpec, SinkWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.sink import BeforeCommit


@dataclass(frozen=True)
class ForeachBatch(SinkSpec):
    """A function that is called with each batch, at least once.

    Args:
        function: Takes the batch and its number, as for Spark's `foreachBatch`.
        name: Its label in the record; by default the function's name.

    Raises:
        ConfigError: It is not a function.
    """

    kind: ClassVar[str] = "foreach-batch"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="each batch at least once; nothing fences what the function does",
        reader_sees="what the function writes, and again after a kill",
        rights="those of the function",
        runs_on="Spark 3.5 to 4.3",
        speed="that of the function",
        page="exactly-once.md#a-function-of-your-own",
    )

    function: Callable[[DataFrame, int], object]
    _: KW_ONLY
    name: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ConfigError(f"ForeachBatch takes a function, not {self.function!r}.")
        name = self.name or str(getattr(self.function, "__name__", "function"))
        object.__setattr__(self, "name", name)

    @property
    def label(self) -> str:
        """Its label in the record."""
        return str(self.name)

    @property
    def display_name(self) -> str:
        """As people know it."""
        return f"the function {self.label}"

    @property
    def place(self) -> str:
        """Unknown: the function's own name."""
        return f"function:{self.label}"

    @property
    def is_appending(self) -> bool:
        """Unknown, so no other stream is refused."""
        return False

    def resolve_writer(self, df: DataFrame, *, stream: str) -> FunctionWriter:
        """Return what calls the function: what it takes is unknown."""
        del df, stream
        return FunctionWriter(self)

    def open_ledger(
        self, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
    ) -> None:
        """Return None: nothing here can tell what has arrived."""
        del spark, options


class FunctionWriter(SinkWriter):
    """Calls the function with each batch."""

    _sink: ForeachBatch

    @property
    def identity(self) -> str:
        """Unknown: the function's own name."""
        return self._sink.place

    @property
    def ledger(self) -> None:
        """There is none."""
        return

    def create(self) -> None:
        """Do nothing: what it needs is unknown."""

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Call the function."""
        del before_commit  # it has no commit that is ours
        self._sink.function(batch, attempt.batch_id)
        return Apply()

    def close(self) -> None:
        """Do nothing: nothing is held open."""
