"""Rows by key: the newest one stays, whatever order they come in.

`sequence_by` says which of two rows with one key is newer. It is made a total order, so that the
outcome does not depend on how rows fall into batches: NULL is older than anything, and of two rows
with the same value the larger one stays, column by column, text by its bytes and NULL the largest.
The sinks for PostgreSQL and Delta compare the same way. Without `sequence_by` the later batch
stays, and a key that comes twice in one batch is refused, because nothing says which is later.

Two statements and not INSERT … ON DUPLICATE KEY UPDATE: MariaDB assigns its columns one after the
other, so that a guard reads some of them changed already, and it updates the row of whichever
unique index conflicts, also of one that is not over the keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.sinks.database.examine import count_rows
from holdfast.sinks.failures import UnmergeableRowsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.sinks.database.dialect import Connection, Dialect
    from holdfast.sinks.database.target import Target


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """One batch that is merged, within its transaction."""

    dialect: Dialect
    connection: Connection
    target: Target

    def stage(self) -> None:
        """Make the temporary tables; before the transaction, which creating a table would end."""
        for statement in self.dialect.stage(self.target):
            self.dialect.run(self.connection, statement)

    def merge(self) -> int:
        """Bring the rows of the batch into the table; return how many it did not have before.

        Raises:
            UnmergeableRowsError: A key is NULL, or comes twice and nothing orders its rows; or
                rows of the batch are not there afterwards.
        """
        self._refuse_null_keys()
        self._refuse_long()
        newest = self.dialect.newest if self.target.sequence_by else self.dialect.batch
        if self.target.sequence_by:
            self._run(self._choose())
        else:
            self._refuse_duplicate_keys()
        if len(self.target.keys) < len(self.target.columns):
            self._run(
                self.dialect.update(
                    self.target, newest=newest, same=self._same(), newer=self._newer()
                )
            )
        added = self._run(self._insert(newest))
        self._refuse_missing(newest)
        return added

    def _run(self, statement: str) -> int:
        return self.dialect.run(self.connection, statement)

    def _list(self, columns: tuple[str, ...], side: str = "") -> str:
        return ", ".join(f"{side}{self.dialect.quote(each)}" for each in columns)

    def _choose(self) -> str:
        """Return the statement that keeps one row of each key."""
        listed, keys = self._list(self.target.columns), self._list(self.target.keys)
        ranked = (
            f"SELECT {listed}, ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {self._order()})"
        )
        return (
            f"INSERT INTO {self.dialect.newest} ({listed}) SELECT {listed} FROM"  # noqa: S608 - quoted
            f" ({ranked} AS holdfast_rank FROM {self.dialect.batch}) r WHERE holdfast_rank = 1"
        )

    def _order(self) -> str:
        """Return how the rows of one key are ordered, the newest first."""
        order = self.target.sequence_by or ""
        newest = self._ordered(order)
        largest = [
            f"{self._is_null(each)} DESC, {self._ordered(each)} DESC"
            for each in self.target.columns
            if each not in (*self.target.keys, order)  # SQL Server orders by nothing twice
        ]
        return ", ".join([self._is_null(order), f"{newest} DESC", *largest])

    def _is_null(self, column: str) -> str:
        """Return 1 for NULL and 0 otherwise, which also databases without booleans order by."""
        return f"CASE WHEN {self.dialect.quote(column)} IS NULL THEN 1 ELSE 0 END"

    def _ordered(self, column: str, side: str = "") -> str:
        field = next(each for each in self.target.fields if each.name == column)
        return field.order.replace("{}", f"{side}{self.dialect.quote(column)}")

    def _newer(self) -> str:
        """Return the condition under which a row replaces the one that is there."""
        order = self.target.sequence_by
        if order is None:
            return "1 = 1"
        others = [each for each in self.target.columns if each not in (*self.target.keys, order)]
        tie = "1 = 0"
        for column in reversed(others):
            tie = self._first(column, tie, null_wins=True)
        return self._first(order, tie, null_wins=False)

    def _first(self, column: str, tie: str, *, null_wins: bool) -> str:
        """Return whether `s` has the larger value, or an equal one and `tie` holds."""
        quoted = self.dialect.quote(column)
        mine, theirs = (self._ordered(column, side) for side in ("s.", "t."))
        winner, loser = ("s", "t") if null_wins else ("t", "s")
        by_null = f"({winner}.{quoted} IS NULL AND {loser}.{quoted} IS NOT NULL)"
        # Equal by bytes, as the order is: a collation takes other texts for equal too.
        both_null = f"(s.{quoted} IS NULL AND t.{quoted} IS NULL)"
        same = f"({both_null} OR {mine} = {theirs})"
        return f"({by_null} OR {mine} > {theirs} OR ({same} AND {tie}))"

    def _same(self) -> str:
        """Return whether rows `t` and `s` have one key."""
        quoted = map(self.dialect.quote, self.target.keys)
        return " AND ".join(map(self.dialect.is_same_key, quoted))

    def _insert(self, newest: str) -> str:
        columns, key = self.target.columns, self.dialect.quote(self.target.keys[0])
        return (
            f"INSERT INTO {self.target.name} ({self._list(columns)})"  # noqa: S608 - quoted
            f" SELECT {self._list(columns, 's.')} FROM {newest} s"
            f" LEFT JOIN {self.target.name} t ON {self._same()} WHERE t.{key} IS NULL"
        )

    def _refuse_null_keys(self) -> None:
        condition = " OR ".join(f"{self.dialect.quote(each)} IS NULL" for each in self.target.keys)
        found = count_rows(self.dialect, self.connection, f"{self.dialect.batch} WHERE {condition}")
        if found:
            why = f"{found:,} rows have a NULL in {', '.join(self.target.keys)}."
            raise self._refuse(why)

    def _refuse_long(self) -> None:
        """Refuse values that the database takes for equal because it sorts by their beginning."""
        most, order = self.dialect.longest_sorted, self.target.sequence_by
        if most is None:
            return
        sorted_by = (*self.target.keys, *filter(None, [order]))
        if found := count_rows(self.dialect, self.connection, self._longer(sorted_by)):
            why = f"{found:,} rows have more than {most:,} bytes in {' or '.join(sorted_by)}."
            raise self._refuse(why)
        others = [each for each in self.target.columns if each not in sorted_by]
        if order is None or not count_rows(self.dialect, self.connection, self._longer(others)):
            return
        ties, longer = self._list(sorted_by), self._is_longer(others)
        found = count_rows(
            self.dialect,
            self.connection,
            f"(SELECT {ties} FROM {self.dialect.batch} GROUP BY {ties}"  # noqa: S608 - quoted
            f" HAVING count(*) > 1 AND max({longer})) d",
        )
        if found:
            why = f"{found:,} keys have rows with one {order} and values over {most:,} bytes."
            raise self._refuse(f"{why} {self.dialect.product} does not sort by more.")

    def _longer(self, columns: Sequence[str]) -> str:
        return f"{self.dialect.batch} WHERE {self._is_longer(columns)}"

    def _is_longer(self, columns: Sequence[str]) -> str:
        most, quote = self.dialect.longest_sorted, self.dialect.quote
        longer = [f"coalesce(octet_length({quote(each)}), 0) > {most}" for each in columns]
        return " OR ".join(longer) or "1 = 0"

    def _refuse(self, why: str) -> UnmergeableRowsError:
        return UnmergeableRowsError(self.target.display_name, why=why)

    def _refuse_duplicate_keys(self) -> None:
        keys = self._list(self.target.keys)
        found = count_rows(
            self.dialect,
            self.connection,
            f"(SELECT {keys} FROM {self.dialect.batch} GROUP BY {keys} HAVING count(*) > 1) d",  # noqa: S608
        )
        if found:
            why = (
                f"{found:,} keys come twice in one batch, and without sequence_by no row is later."
            )
            raise self._refuse(why)

    def _refuse_missing(self, newest: str) -> None:
        """Refuse a merge after which a key of the batch is not in the table."""
        key = self.dialect.quote(self.target.keys[0])
        rows = f"{newest} s LEFT JOIN {self.target.name} t ON {self._same()} WHERE t.{key} IS NULL"
        if found := count_rows(self.dialect, self.connection, rows):
            why = f"{found:,} of its rows are not there after they were written: see its triggers."
            raise self._refuse(why)
