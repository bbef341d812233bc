"""A damage scenario with a guarded stream: exact, or refused with nothing written."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from campaigns.restart_damage import as_holdfast_does
from campaigns.restart_damage.runs import Run, Servers
from holdfast.drills.errors import DriverFailedError
from holdfast.drills.kill import Driver, Named

_HELD: tuple[LiteralString, ...] = (
    'select * from readings order by partition, "offset"',
    "select * from holdfast.ledger",
    "select * from holdfast.history order by batch",
)
_EMPTY = "alter table readings rename to emptied; create table readings (like emptied)"
_FILL_AGAIN = "drop table readings; alter table emptied rename to readings"


class GuardedRun(Run):
    """The same topic and the same hands, with `hf.start`.

    What is deleted is kept aside: a start that is refused is tried again after it was put back.
    """

    into: str
    """The sink, as the column has it."""
    inside_batch_2: Named

    def __init__(self, servers: Servers, name: str, *, seed: int, directory: Path) -> None:
        super().__init__(servers, f"guarded_{name}", sink=self.into, seed=seed, directory=directory)
        self._root = directory / "streams"
        self._checkpoint = self._root / "readings"
        self._kept = directory / "kept"
        self._refusal = directory / "refused"
        self._is_emptied = False

    def _program(self) -> list[str]:
        return [as_holdfast_does.__file__]

    def driver(self, **options: Any) -> Driver:
        """Return a driver of the guarded stream; nothing is started."""
        more: dict[str, Any] = {
            "root": str(self._root),
            "refused": str(self._refusal),
            "into": self.into,
        }
        return super().driver(**more, **options)

    def delete_checkpoint(self) -> None:
        """Delete the checkpoint; a copy is kept."""
        shutil.copytree(self._checkpoint, self._kept)
        super().delete_checkpoint()

    def empty_table(self) -> None:
        """Take every row out of the table; they are kept."""
        self._empty()
        self._is_emptied = True

    def restart(self, **options: Any) -> None:
        """Start again; when that is refused, put back what was deleted and go on.

        Raises:
            AssertionError: It was refused, and something was written all the same.
        """
        before = self._held()
        try:
            super().restart(**options)
        except DriverFailedError:
            if not self._refusal.exists():
                raise
            assert self._held() == before, "refused, and something was written"
            self._put_back()
            self.send_messages()  # so that there is something to go on with
            super().restart()

    def told(self) -> str:
        """Say how it ended, for the table."""
        found = self.difference()
        end = (
            "exact"
            if found.exact
            else f"{found.missing:,} missing, {found.duplicated:,} duplicated"
        )
        if not self._refusal.exists():
            return end
        return f"refused: {self._refusal.read_text()}, nothing written; put back: {end}"

    def _put_back(self) -> None:
        shutil.rmtree(self._checkpoint, ignore_errors=True)
        shutil.copytree(self._kept, self._checkpoint)
        if self._is_emptied:
            self._fill_again()

    @abstractmethod
    def _held(self) -> Any:
        """Return everything the sink holds of the stream: the rows and the ledger."""

    @abstractmethod
    def _empty(self) -> None: ...

    @abstractmethod
    def _fill_again(self) -> None: ...


class GuardedIntoPostgres(GuardedRun):
    """Into a table of PostgreSQL."""

    into = "jdbc"
    inside_batch_2 = Named("S5", 3)  # its rows and its ledger row are written, not committed

    def kill_inside_the_write(self) -> None:
        """Kill when the rows of batch 0 are copied and not committed."""
        self.driver().run_until_killed(Named("S4"))

    def _held(self) -> list[list[tuple[Any, ...]]]:
        with psycopg.connect(self._dsn) as connection:
            return [connection.execute(query).fetchall() for query in _HELD]

    def _empty(self) -> None:
        self._execute(_EMPTY)

    def _fill_again(self) -> None:
        self._execute(_FILL_AGAIN)

    def _execute(self, statements: LiteralString) -> None:
        with psycopg.connect(self._dsn) as connection:
            connection.execute(statements)


class GuardedIntoDelta(GuardedRun):
    """Into a Delta table."""

    into = "delta"
    inside_batch_2 = Named("S3", 3)

    def _held(self) -> dict[str, bytes]:
        """Return every file: a commit that nobody reads counts too."""
        files = (path for path in self._table.rglob("*") if path.is_file())
        return {str(path.relative_to(self._table)): path.read_bytes() for path in files}

    def _empty(self) -> None:
        shutil.copytree(self._table, self._directory / "full")
        super(GuardedRun, self).empty_table()

    def _fill_again(self) -> None:
        shutil.rmtree(self._table)
        shutil.copytree(self._directory / "full", self._table)
