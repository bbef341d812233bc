"""What a sink is: a spec that the user writes, and the writer of one start.

The third part, the ledger store, is in `holdfast.ledger.store`. A kind of sink is a subclass of
`SinkSpec` with its own `kind`; defining it registers it (`holdfast.sinks.kinds`). Everything else
asks the spec: no other package knows which kinds there are.
"""

from __future__ import annotations

import importlib
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.complete import StrictABC
from holdfast.record.contracts import SinkContract
from holdfast.sinks.choosing import Choosing
from holdfast.sinks.merging import check_output_mode

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt
    from holdfast.ledger.store import LedgerStore
    from holdfast.sinks.contents import SinkContents
    from holdfast.storage.read import Reader

    WriteBatch = Callable[[DataFrame, int], None]

BeforeCommit = Callable[[int], None]
"""Called last before a commit, with the number of rows; raises when they must not be committed."""
_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
KINDS: dict[str, type[SinkSpec]] = {}
"""The kinds of sinks that were defined; `holdfast.sinks.kinds` imports all there are."""


class Capability(StrEnum):
    """What a sink can do beside taking batches: it decides which plans exist for it."""

    SETTLE = "settle"
    """Rows can be taken away and put back, in the step that fences the sink."""
    CONTENTS = "contents"
    """Rows can be read back, as of the moment of a ledger row."""
    VERSIONS = "versions"
    """The sink knows what it held after each batch, and can go back to it."""


class SinkWriter(StrictABC, abstract=True):
    """Writes the batches of one start of one stream, over its own connection."""

    is_native: ClassVar[bool] = False
    """Whether Spark writes the batches by itself: nothing of Holdfast sees them. Such a sink is the
    only one of its stream."""

    def __init__(self, sink: SinkSpec) -> None:
        """Write nothing yet."""
        self._sink = sink

    @property
    def name(self) -> str:
        """The sink's label in the ledger and in the record."""
        return self._sink.label

    @property
    def display_name(self) -> str:
        """The sink as people know it: `the PostgreSQL table public.readings`."""
        return self._sink.display_name

    @property
    def place(self) -> str:
        """Where its rows are, as people write it."""
        return self._sink.place

    @property
    def recorded_place(self) -> str:
        """Where its rows are, as a contract keeps it: the same from every working directory."""
        return self.place

    @property
    @abstractmethod
    def identity(self) -> str:
        """Where its rows are, resolved: two sinks with one identity are one sink."""

    @property
    @abstractmethod
    def ledger(self) -> LedgerStore | None:
        """The sink's ledger; None when the sink has none, and exactly-once is not claimed."""

    def describe(self) -> SinkContract:
        """Return what a contract keeps of the sink: enough to open its ledger again, no secret."""
        return SinkContract(
            kind=self._sink.kind,
            place=self.recorded_place,
            label=self.name,
            keys=tuple(self._sink.keys),
            sequence_by=self._sink.sequence_by,
            secret=self._sink.secret,
        )

    @property
    def output(self) -> Reader | None:
        """Reads what a sink without a ledger leaves of its batches; None where there is nothing."""
        return None

    @property
    def delivery(self) -> str:
        """What people should know of a sink without a ledger, after its name."""
        return "runs at least once per batch; exactly-once is not claimed for it"

    def begin(self, writer: DataStreamWriter, write: WriteBatch) -> StreamingQuery:
        """Set the sink on Spark's writer, and start the query.

        Args:
            writer: With everything but the sink.
            write: Writes a batch to every sink of the stream.
        """
        return writer.foreachBatch(write).start()

    def newest_batch(self) -> int | None:
        """Return the last batch of this run, where Spark writes them by itself; else None."""
        return None

    def warnings(self) -> tuple[str, ...]:
        """Return what people should know of the sink, logged once per start."""
        return ()

    def look_again(self) -> None:
        """Look once more for what was missing; called with the lease in hand.

        The driver that held the lease until now may have created it.
        """

    @abstractmethod
    def create(self) -> None:
        """Create what is missing: the table, the ledger's tables. Called once the rules passed.

        Raises:
            HoldfastError: It could not be created.
        """

    @abstractmethod
    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and write it when it is to be applied (S2 to S6)."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open."""


class SinkSpec(StrictABC, abstract=True):
    """What a user writes for a sink: values only, frozen and comparable, without a connection."""

    kind: ClassVar[str] = ""
    """Names the kind of sink in a contract, in drills and in the docs."""
    package: ClassVar[str] = ""
    """The package with its modules `writer`, `ledger` and `contents`, imported when they are used:
    they need a driver or Spark. A kind without one has the methods that open them."""
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    """What it can do beside taking batches."""
    choosing: ClassVar[Choosing | None] = None
    """Its row on the page *Choosing a sink*; None for a kind that people do not choose."""
    keys: tuple[str, ...] = ()
    """Columns by which rows are merged; none when they are appended."""
    sequence_by: str | None = None
    """The column that says which of two rows with one key is newer."""
    settles_with_spark: ClassVar[bool] = False
    """Whether only a Spark session can change its rows and its ledger row."""
    drop_copy: ClassVar[str] = ""
    """What removes the copy {copy} of rows that a plan took away; empty when it makes none."""
    find_copies: ClassVar[str] = ""
    """Where the names of such copies are; empty when it makes none."""

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Register the kind.

        Raises:
            TypeError: It lacks something, or another class has its kind.
        """
        super().__init_subclass__(abstract=abstract, **options)
        if abstract:
            return
        other = KINDS.get(cls.kind, cls)
        is_same = (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
        if not _KIND.fullmatch(cls.kind):
            raise TypeError(f"{cls.__name__} needs a kind such as `sqlite`, not {cls.kind!r}.")
        if not cls.package and cls.resolve_writer is SinkSpec.resolve_writer:
            raise TypeError(f"{cls.__name__} needs a package, or resolve_writer and open_ledger.")
        if "kind" in vars(cls) and not is_same:
            raise TypeError(
                f"{cls.__name__} needs a kind of its own; {cls.kind!r} is {other.__qualname__}."
            )
        if is_same:  # else it is a variant of a kind, which stays what it is
            KINDS[cls.kind] = cls

    @property
    @abstractmethod
    def label(self) -> str:
        """The sink's label in a ledger that does not know its place yet."""

    @property
    @abstractmethod
    def display_name(self) -> str:
        """The sink as people know it, before it is resolved."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where its rows are, as people write it; without secrets."""

    @property
    def secret(self) -> str | None:
        """The name of the secret that it needs, never its value; None without one."""
        return None

    @property
    def why_not_sent(self) -> str | None:
        """Why another process than that of the start cannot write its batches from its contract.

        None when it can.
        """
        return "only the process that starts the stream can write them"

    @property
    def needs_own_session(self) -> bool:
        """Whether a batch is written under settings that no other program must see."""
        return False

    @classmethod
    def from_contract(cls, contract: SinkContract) -> SinkSpec | None:
        """Return the sink that a contract tells of; None when the contract does not suffice."""
        del contract
        return None

    @property
    def is_appending(self) -> bool:
        """Whether it appends: correct only with a single writer."""
        return not self.keys

    def writer_for(self, df: DataFrame, *, stream: str, output_mode: str) -> SinkWriter:
        """Return the writer of one start, once the sink takes the rows of a streaming DataFrame.

        Nothing is created or changed. What is returned shares nothing with another start.

        Raises:
            HoldfastError: The sink does not take the rows, or cannot be reached.
        """
        if self.is_appending:
            check_output_mode(output_mode, self.display_name)
        return self.resolve_writer(df, stream=stream)

    def resolve_writer(self, df: DataFrame, *, stream: str) -> SinkWriter:
        """Check a streaming DataFrame, and return what writes its batches; see `writer_for`."""
        found: SinkWriter = self._part("writer").resolve_writer(self, df, stream)
        return found

    def open_ledger(
        self, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
    ) -> LedgerStore | None:
        """Open the ledger without a streaming query; None when the sink has none.

        Args:
            spark: A session, where reading or writing the ledger needs one.
            options: Of the store, as `--storage-option` gives them; without a session.

        Raises:
            HoldfastError: It cannot be opened.
        """
        found: LedgerStore | None = self._part("ledger").open_ledger(self, spark, options=options)
        return found

    def open_contents(
        self, df: DataFrame, *, stream: str
    ) -> AbstractContextManager[SinkContents] | None:
        """Open what the sink holds of a stream; None when its rows cannot be read back.

        Args:
            df: The stream, for its columns.
            stream: Its name.

        Raises:
            HoldfastError: On entering, when the sink cannot be read.
        """
        if Capability.CONTENTS not in self.capabilities:
            return None
        found: AbstractContextManager[SinkContents] = self._part("contents").open_contents(
            self, df, stream
        )
        return found

    def _part(self, name: str) -> Any:
        return importlib.import_module(f"{self.package}.{name}")
