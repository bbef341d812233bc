"""A Delta table without Spark: its log as Delta writes it, its rows as JSON beside it.

The log is what Holdfast's own ledger reads, so the shipped ledger of Delta tables is used as it is;
only what it asks Spark to commit is committed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from campaigns.histories.memory_table import COLUMNS, Row, UnmergeableError, merged
from holdfast.ledger.output import (
    CannotSettleError,
    ExchangeOutput,
    Output,
    RestoreOutput,
)
from holdfast.sinks.delta.commit import Identity
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.delta.settle import Settling
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.delta.target import Target
from holdfast.sinks.delta.writer import DeltaWriter
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader

_ID = "b3c0a1de-0000-4000-8000-000000000000"
_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in COLUMNS
        ],
    }
)


_READ: dict[Path, list[dict[str, Any]]] = {}


def forget_tables() -> None:
    """Forget what was read of every table."""
    _READ.clear()


@dataclass(frozen=True)
class LogTable:
    """One table, by its directory."""

    home: Path

    @property
    def newest(self) -> int:
        """The newest version; -1 when there is no table."""
        return len(list((self.home / "_delta_log").glob("*.json"))) - 1

    def create(self) -> None:
        """Create the table, unless it is there."""
        if self.newest < 0:
            table = {"id": _ID, "schemaString": _SCHEMA, "configuration": {}, "createdTime": 1}
            self._commit([{"metaData": table}], "CREATE TABLE", {})

    def _actions(self, version: int) -> list[dict[str, Any]]:
        path = self.home / f"_delta_log/{version:020d}.json"
        if path not in _READ:  # a commit never changes
            _READ[path] = [json.loads(line) for line in path.read_text().splitlines()]
        return _READ[path]

    def active(self, version: int | None = None) -> list[str]:
        """Return the files of a version, in the order in which they were added."""
        found: dict[str, None] = {}
        for at in range((self.newest if version is None else version) + 1):
            for action in self._actions(at):
                if "add" in action:
                    found[action["add"]["path"]] = None
                if "remove" in action:
                    found.pop(action["remove"]["path"], None)
        return list(found)

    def rows(self, version: int | None = None) -> list[Row]:
        """Return the rows of a version.

        Raises:
            CannotSettleError: A file of it is gone: VACUUM has deleted it.
        """
        found: list[Row] = []
        for name in self.active(version):
            try:
                found += json.loads((self.home / name).read_text())
            except FileNotFoundError as error:
                why = f"{name} of version {version} is gone: VACUUM has deleted it."
                raise CannotSettleError(str(self.home), why) from error
        return found

    def transactions(self) -> dict[str, int]:
        """Return the newest version of each application."""
        found: dict[str, int] = {}
        for at in range(self.newest + 1):
            for action in self._actions(at):
                if "txn" in action:
                    found[action["txn"]["appId"]] = action["txn"]["version"]
        return found

    def append(self, rows: list[Row], identity: Identity | None, *, by: str = "WRITE") -> None:
        """Append rows; none at all is a commit too."""
        self._commit(self._add(rows), by, {"mode": "Append"}, identity=identity)

    def overwrite(
        self,
        rows: list[Row],
        identity: Identity | None,
        *,
        by: str = "WRITE",
        **parameters: str,
    ) -> None:
        """Put rows in the place of all."""
        removed: list[dict[str, Any]] = [{"remove": {"path": name}} for name in self.active()]
        self._commit([*removed, *self._add(rows)], by, parameters, identity=identity)

    def vacuum(self) -> None:
        """Delete every file that the newest version does not have."""
        kept = set(self.active())
        for path in self.home.glob("part-*"):
            if path.name not in kept:
                path.unlink()

    def _add(self, rows: list[Row]) -> list[dict[str, Any]]:
        if not rows:
            return []
        name = f"part-{self.newest + 1:05d}.json"
        (self.home / name).write_text(json.dumps(rows))
        return [{"add": {"path": name, "dataChange": True}}]

    def _commit(
        self,
        actions: list[dict[str, Any]],
        operation: str,
        parameters: Mapping[str, str],
        *,
        identity: Identity | None = None,
    ) -> None:
        info: dict[str, Any] = {"operation": operation, "operationParameters": dict(parameters)}
        head: list[dict[str, Any]] = []
        if identity is not None:
            if identity.version <= self.transactions().get(identity.app, -1):
                return  # Delta leaves it out, and says nothing
            info["userMetadata"] = identity.note
            head = [{"txn": {"appId": identity.app, "version": identity.version}}]
        path = self.home / f"_delta_log/{self.newest + 1:020d}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [{"commitInfo": info}, *head, *actions]
        path.write_text("\n".join(json.dumps(each) for each in lines) + "\n")


@dataclass(frozen=True)
class LogDelta(Delta):
    """A Delta table that is committed to without Spark."""

    kind: ClassVar[str] = "histories-delta"
    settles_with_spark: ClassVar[bool] = False

    @property
    def log(self) -> LogTable:
        """The table."""
        return LogTable(Path(parse_location(str(self.path)).path))

    def resolve_writer(self, df: Any, *, stream: str) -> LogWriter:
        """Return the writer of one start."""
        writer = LogWriter(self, _target(self), df=df, stream=stream)
        writer.ledger.standing(stream)
        return writer

    def open_ledger(
        self, spark: Any = None, *, options: Mapping[str, str] | None = None
    ) -> LogLedger:
        """Open the ledger of a table."""
        del spark, options
        return LogLedger(self, _target(self))


def _target(sink: LogDelta) -> Target:
    reader = open_reader(parse_location(str(sink.path)))
    is_missing = sink.log.newest < 0
    return Target(
        name=sink.label,
        reader=reader,
        table_id=None if is_missing else _ID,
        columns=COLUMNS,
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
        is_missing=is_missing,
    )


class LogLedger(DeltaLedgerStore):
    """The shipped ledger of a Delta table; what it commits is written into the log here."""

    _sink: LogDelta

    def _append_nothing(self, identity: Identity, *, is_there: Callable[[], bool]) -> None:
        del is_there
        self._sink.log.append([], identity)

    def _commit_rows(self, settling: Settling, output: Output, identity: Identity) -> None:
        log = self._sink.log
        if not isinstance(output, RestoreOutput | ExchangeOutput):
            log.overwrite([], identity, mode="Overwrite")
            return
        source = settling.find_source(output)
        assert source.version is not None
        rows = log.rows(source.version)
        if not source.is_added:
            log.overwrite(rows, identity, mode="Overwrite")
            return
        there = {row["key"] for row in log.rows()} if self._sink.keys else set()
        if any(row["key"] in there for row in rows):
            raise CannotSettleError(
                self._sink.display_name, "Another writer has written these keys."
            )
        log.append(rows, identity)


class _NoSession:
    sparkSession = None  # noqa: N815 - as a DataFrame has it


class LogWriter(DeltaWriter):
    """The shipped writer of a Delta table; what it commits is written into the log here."""

    def __init__(self, sink: LogDelta, target: Target, *, df: Any, stream: str) -> None:
        """Write nothing yet."""
        del df
        super().__init__(sink, target, df=cast("Any", _NoSession), stream=stream)
        self._log = sink.log
        self._of = sink
        self._ledger = LogLedger(sink, target)

    def look_again(self) -> None:
        """Find a table that another driver has created since."""
        if self._ledger.target.is_missing:
            self._ledger.close()
            self._ledger.target = _target(self._of)
            self._ledger.standing(self._stream)

    def create(self) -> None:
        """Create the table when it is not there."""
        self._log.create()
        self.look_again()

    def warnings(self) -> tuple[str, ...]:
        """Return none."""
        return ()

    def _commit(self, batch: Any, attempt: Any, identity: Identity) -> None:
        del attempt
        if not self._of.keys:
            self._log.append(list(batch.rows), identity)
            return
        keys = [row["key"] for row in batch.rows]
        if self._of.sequence_by is None and len(set(keys)) < len(keys):
            raise UnmergeableError(self.display_name, "Keys come twice in one batch.")
        after = merged(self._log.rows(), batch.rows, sequenced=self._of.sequence_by is not None)
        self._log.overwrite(after, identity, by="MERGE")
