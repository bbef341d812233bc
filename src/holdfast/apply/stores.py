"""What steps act on: files and ledgers, opened once each; for a rehearsal, files on an overlay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from holdfast.errors import ConfigError
from holdfast.ledger.store import LedgerStore
from holdfast.plan.goal import Code
from holdfast.record.contracts import SinkContract
from holdfast.sinks.kinds import open_recorded
from holdfast.sinks.session import reader_of, writer_of
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.overlay import OverlayWriter
from holdfast.storage.write import Writer, open_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Returns a Spark session, starting it if need be."""


def no_session() -> NoReturn:
    """Stand for a session where none is needed."""
    raise ConfigError("This needs a Spark session, and there is none.")


class Stores:
    """Opens what a plan names; every place and every sink once."""

    def __init__(
        self,
        *,
        options: Mapping[str, str] | None = None,
        kafka_config: str | None = None,
        session: Session = no_session,
        roots: Sequence[str] = (),
        code: Code | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            options: Of the stores, as `--storage-option` gives them.
            kafka_config: A file with properties of a Kafka client.
            session: Where a step needs Spark.
            roots: Places that a plan may change although no record names them.
            code: Of the stream, for a plan that runs it; stores are reached as its session does.
        """
        self.roots = tuple(roots)
        self._code = code
        self._options = dict(options or {})
        self.kafka_config = kafka_config
        self._session = session
        self._writers: dict[str, Writer] = {}
        self._ledgers: dict[str, LedgerStore] = {}

    @property
    def options(self) -> Mapping[str, str]:
        """Of the stores."""
        return self._options

    @property
    def code(self) -> Code:
        """The code of the stream.

        Raises:
            ConfigError: It was not given.
        """
        if self._code is None:
            raise ConfigError("The plan runs the stream's code: give --pipeline MODULE:PIPELINE.")
        return self._code

    def at(self, place: str) -> Writer:
        """Return what reads and writes below a place."""
        location = parse_location(place)
        key = str(location)
        if key not in self._writers:
            self._writers[key] = self._open(key)
        return self._writers[key]

    def ledger(self, sink: SinkContract, *, writes: bool) -> LedgerStore:
        """Return the ledger of a sink.

        Args:
            sink: As the contract of the last run has it.
            writes: Whether it will be changed: some kinds need a Spark session for that.

        Raises:
            ConfigError: The contract does not suffice to open it.
            HoldfastError: It cannot be opened.
        """
        key = f"{writes}/{sink.kind}/{sink.place}/{sink.label}"
        if key not in self._ledgers:
            self._ledgers[key] = self._open_declared(sink) or self._open_recorded(
                sink, writes=writes
            )
        return self._ledgers[key]

    def _open_recorded(self, sink: SinkContract, *, writes: bool) -> LedgerStore:
        code = self._code
        session = self._session if writes else None
        session = session if code is None else lambda: code.spark
        return open_recorded(sink, session, options=self._options)[1]

    def _open_declared(self, sink: SinkContract) -> LedgerStore | None:
        """Open a ledger as the code declares its sink: not every contract suffices for that.

        Two tables can have one label: `/lake/eu/orders` and `/lake/us/orders`.
        """
        if self._code is None:
            return None
        for declared in self._code.pipeline.streams.values():
            for each in declared.sinks:
                if (each.kind, each.label, each.place) == (sink.kind, sink.label, sink.place):
                    return each.open_ledger(self._code.spark, options=self._options)
        return None

    def forget_ledgers(self) -> None:
        """Close the ledgers, so that the next look reads them again."""
        for each in self._ledgers.values():
            each.close()
        self._ledgers.clear()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Close the ledgers at the end, however it comes."""
        try:
            yield
        finally:
            self.forget_ledgers()

    def rehearsal(self) -> RehearsalStores:
        """Return the same places, with nothing changed yet."""
        return RehearsalStores(
            options=self._options, kafka_config=self.kafka_config, code=self._code
        )

    def _open(self, place: str) -> Writer:
        if self._code is not None:
            return writer_of(self._code.spark, parse_location(place))
        return open_writer(place, self._options)


class RehearsalStores(Stores):
    """The same places, with every change of a file kept in memory."""

    def _open(self, place: str) -> Writer:
        if self._code is not None:
            return OverlayWriter(reader_of(self._code.spark, parse_location(place)))
        return OverlayWriter(open_reader(place, self._options))

    @property
    def overlays(self) -> Mapping[str, Writer]:
        """What was opened, by place."""
        return self._writers
