"""What steps act on: files and ledgers, opened once each; for a rehearsal, files on an overlay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast.errors import ConfigError
from holdfast.ledger.store import LedgerStore
from holdfast.record.contracts import SinkContract
from holdfast.sinks.kinds import open_ledger, sink_of
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.overlay import OverlayWriter
from holdfast.storage.write import Writer, open_writer

Session = Callable[[], Any]
"""Returns a Spark session, starting it if need be."""


def no_session() -> Any:
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
    ) -> None:
        """Open nothing yet.

        Args:
            options: Of the stores, as `--storage-option` gives them.
            kafka_config: A file with properties of a Kafka client.
            session: Where a step needs Spark.
            roots: Places that a plan may change although no record names them.
        """
        self.roots = tuple(roots)
        self._options = dict(options or {})
        self.kafka_config = kafka_config
        self._session = session
        self._writers: dict[str, Writer] = {}
        self._ledgers: dict[str, LedgerStore] = {}

    @property
    def options(self) -> Mapping[str, str]:
        """Of the stores."""
        return self._options

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
        spec = sink_of(sink)
        key = f"{writes}/{sink.kind}/{sink.place}/{sink.label}"
        if key not in self._ledgers:
            needs_spark = writes and spec is not None and spec.settles_with_spark
            spark = self._session() if needs_spark else None
            opened = None if spec is None else open_ledger(spec, spark, options=self._options)
            if opened is None:
                raise ConfigError(
                    f"The {sink.kind} sink {sink.label} cannot be opened from here: the contract "
                    "of the last run does not suffice."
                )
            self._ledgers[key] = opened
        return self._ledgers[key]

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
        return RehearsalStores(options=self._options, kafka_config=self.kafka_config)

    def _open(self, place: str) -> Writer:
        return open_writer(place, self._options)


class RehearsalStores(Stores):
    """The same places, with every change of a file kept in memory."""

    def _open(self, place: str) -> Writer:
        return OverlayWriter(open_reader(place, self._options))

    @property
    def overlays(self) -> Mapping[str, Writer]:
        """What was opened, by place."""
        return self._writers
