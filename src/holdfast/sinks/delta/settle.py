"""The rows that a Delta table gets when a plan settles it, and why it could not get them.

Rows come from an older version of the table, in one commit that carries the ledger row. What other
writers have added since is never taken away unseen: where Delta cannot tell their rows from the
stream's, the table is not settled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.checkpoint.text import parse_json_object
from holdfast.formats.delta_files import find_missing_file
from holdfast.formats.delta_log import Commit, walk_back
from holdfast.ledger.output import (
    CannotSettleError,
    EmptyOutput,
    ExchangeOutput,
    KeepOutput,
    Output,
    RestoreOutput,
)
from holdfast.sinks.delta.commit import Identity, append, overwrite
from holdfast.sinks.delta.since import Opened, find_opening, find_other_writers
from holdfast.sinks.delta.versions import find_other_streams
from holdfast.storage.location import spark_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.sinks.delta.target import Target

_WIDER = {"byte": "short", "short": "integer", "integer": "long", "float": "double"}
"""Types that hold every value of another one."""


class RowsSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the rows come from that a table gets."""

    version: int | None
    """Of the table."""
    is_added: bool
    """Whether they are added to the rows that are there, and do not take their place."""


class Settling(msgspec.Struct, frozen=True, kw_only=True):
    """One table that is brought to a named state for a stream."""

    target: Target
    display_name: str
    stream: str
    newest: int
    """The newest version of the table, as it was looked at."""
    keys: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    """Queries whose own Delta sink writes the table: their commits are the stream's."""
    owns_unnamed: bool = False
    """Whether commits that name no application are the stream's: it writes in `foreachBatch`."""

    def find_obstacle(self, output: Output, *, seen: str | None = None) -> str | None:
        """Say why the table could not be settled, from its log; None if nothing does.

        Raises:
            ReadError: The store did not let us read.
        """
        match output:
            case KeepOutput():
                return None
            case EmptyOutput():
                return self._say_others(after=_version(seen)) if seen else None
            case RestoreOutput(kept=kept):
                version = _version(kept)
                return self._say_others(after=version) or self._find_unfit(version)
            case ExchangeOutput():
                opened = self.find_opening(output)
                if opened is None:
                    return (
                        f"The log of {self.display_name} does not reach back to where generation "
                        f"{output.generation} was opened."
                    )
                if opened.since.unclear:
                    return f"{self.display_name} cannot be put back: {opened.since.unclear}."
                shared = None if opened.others else self._say_shared()
                return shared or self._find_unfit(_source(output, opened))

    def find_opening(self, output: ExchangeOutput) -> Opened | None:
        """Return what came since the generation was opened whose rows are taken away."""
        return find_opening(
            self.target.reader, self.newest, stream=self.stream, generation=output.generation
        )

    def _say_shared(self) -> str | None:
        """Say which other streams would see their rows taken out, although they come back."""
        names = find_other_streams(self.target.reader, self.newest, stream=self.stream)
        if not names:
            return None
        return (
            f"{', '.join(names)} write to {self.display_name} too, and all its rows would be "
            "replaced."
        )

    def _say_others(self, *, after: int | None) -> str | None:
        if after is None:
            return f"{self.display_name} has no such version."
        found = self._find_others(self.newest, after=after)
        if not found:
            return None
        last = found[0]
        return (
            f"Version {last.version} ({last.operation}) of {self.display_name} was committed by "
            "another writer: its rows would be taken away too."
        )

    def _find_unfit(self, version: int | None) -> str | None:
        """Say why the rows of an older version cannot come back as they were."""
        if version is None or not 0 <= version <= self.newest:
            return f"{self.display_name} has no such version."
        gone = find_missing_file(self.target.reader, version, self.newest)
        if gone is not None:
            return (
                f"Version {version} of {self.display_name} cannot be read any more: {gone} is gone."
            )
        then, now = (_columns_at(self.target, at) for at in (version, self.newest))
        if then is None or now is None:
            return None
        return _find_misfit(self.display_name, then, now)

    def find_source(self, output: RestoreOutput | ExchangeOutput) -> RowsSource:
        """Return where the rows come from, and whether those that are there stay."""
        opened = self.find_opening(output) if isinstance(output, ExchangeOutput) else None
        # With rows of other writers, all that are there are theirs: see `find_obstacle`.
        return RowsSource(
            version=_source(output, opened), is_added=opened is not None and bool(opened.others)
        )

    def commit(self, spark: SparkSession, output: Output, identity: Identity) -> None:
        """Give the table its rows, in one commit.

        Raises:
            CannotSettleError: The rows would not be as they were.
        """
        table = spark.table(self.target.name)
        if isinstance(output, EmptyOutput):
            overwrite(table.limit(0), self.target, identity)
            return
        assert isinstance(output, RestoreOutput | ExchangeOutput)
        source = self.find_source(output)
        location = spark_location(self.target.reader.location)
        reader = spark.read.format("delta").option("versionAsOf", source.version)
        rows = self._aligned(reader.load(location), table)
        if source.is_added:
            self._refuse_same_keys(rows, table)
            append(rows, self.target, identity)
        else:
            overwrite(rows, self.target, identity)

    def refuse_slipped_in(self, *, before: int) -> None:
        """Say so when another writer's commit came between the last look and the one that settles.

        Delta has no lock: the rows of that commit are in an older version, and not in the table.

        Args:
            before: The version before the one that settles.

        Raises:
            CannotSettleError: One has.
        """
        found = self._find_others(before, after=self.newest)
        if found:
            why = f"Another writer committed version {found[0].version} in the same moment, and "
            why += "its rows may have been taken away. Compare that version with the table."
            raise CannotSettleError(self.display_name, why)

    def _find_others(self, newest: int, *, after: int) -> list[Commit]:
        reader, stream, own = self.target.reader, self.stream, self.own
        found = find_other_writers(reader, newest, stream=stream, after=after, own=own)
        return [each for each in found if each.transactions or not self.owns_unnamed]

    def _refuse_same_keys(self, rows: DataFrame, table: DataFrame) -> None:
        if not self.keys:
            return
        same = rows.join(table.select(*self.keys), list(self.keys), "left_semi").limit(1).count()
        if same:
            why = "Another writer has written rows with keys that would come back."
            raise CannotSettleError(self.display_name, why)

    def _aligned(self, rows: DataFrame, table: DataFrame) -> DataFrame:
        """Return rows with the columns that the table has now; added ones are NULL."""
        from pyspark.sql import functions as F

        then = {field.name.lower(): field.dataType.jsonValue() for field in rows.schema}
        now = {field.name.lower(): field.dataType.jsonValue() for field in table.schema}
        misfit = _find_misfit(self.display_name, then, now)
        if misfit is not None:
            raise CannotSettleError(self.display_name, misfit)
        return rows.select(
            *(
                F.col(f"`{field.name}`").cast(field.dataType).alias(field.name)
                if field.name.lower() in then
                else F.lit(None).cast(field.dataType).alias(field.name)
                for field in table.schema
            )
        )


def _source(output: RestoreOutput | ExchangeOutput, opened: Opened | None) -> int | None:
    """Return the version that the rows come from."""
    if output.kept is not None:
        return _version(output.kept)
    return None if opened is None else opened.version


def _version(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _columns_at(target: Target, version: int) -> dict[str, Any] | None:
    """Return the columns of a version and their types, by lower-case names; None if not known."""
    for commit in walk_back(target.reader, version):
        if commit.schema is not None:
            fields = (parse_json_object(commit.schema) or {}).get("fields")
            return {
                str(field.get("name")).lower(): field.get("type")
                for field in (fields if isinstance(fields, list) else [])
                if isinstance(field, dict)
            }
    return None


def _find_misfit(shown: str, then: dict[str, Any], now: dict[str, Any]) -> str | None:
    for name, kind in then.items():
        if name not in now:
            return f"The column {name} of {shown} is gone, and the kept rows have values for it."
        if not _holds(now[name], kind):
            return f"The column {name} of {shown} has another type than the kept rows."
    return None


def _holds(now: Any, then: Any) -> bool:
    """Return whether a type is another one, nullability apart, or holds all its values."""
    if isinstance(now, str) and isinstance(then, str):
        at: str | None = then
        while at is not None and at != now:
            at = _WIDER.get(at)
        return at is not None
    return bool(_without_nullability(now) == _without_nullability(then))


def _without_nullability(kind: Any) -> Any:
    if isinstance(kind, dict):
        return {
            name: _without_nullability(value)
            for name, value in kind.items()
            if name not in ("nullable", "containsNull", "valueContainsNull", "metadata")
        }
    return [_without_nullability(each) for each in kind] if isinstance(kind, list) else kind
