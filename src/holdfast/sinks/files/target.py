"""Whether a directory takes the batches of a stream; looked at before anything is created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.sinks.files.columns import check_columns, columns_of, find_other_columns
from holdfast.sinks.files.directory import Directory, State
from holdfast.sinks.files.failures import FilesLedgerError, FilesRefusedError
from holdfast.sinks.files.layout import batches_of, hidden_name, parse_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.sinks.files.sink import Files

_SPARK_LOG = "_spark_metadata"
_ENCODING = "SELECT java_method('java.lang.System', 'getProperty', 'sun.jnu.encoding')"


def check_target(directory: Directory, sink: Files, *, df: DataFrame, stream: str) -> None:
    """See that a directory takes what a stream brings, and that readers see it there.

    Raises:
        ConfigError: The columns, or the session, do not fit.
        FilesRefusedError: What is in the directory does not.
    """
    check_columns(df.schema, sink)
    _check_session(directory, sink, df)
    if directory.mover.location.is_local:
        _check_names(sink, df)
    names = directory.mover.list(directory.name).directories
    if _SPARK_LOG in names:
        raise FilesRefusedError(
            sink.display_name,
            why=f"It has a {_SPARK_LOG}: Spark reads only the files that this log names.",
            how="Write into a new directory.",
        )
    states = _states(directory)
    _check_formats(states, sink)
    is_new = stream not in states
    unexpected = find_unexpected(directory) if is_new else None
    if unexpected is not None:
        raise FilesRefusedError(
            sink.display_name,
            why=f"It holds {unexpected}, which is no batch of Holdfast.",
            how="Write into a new directory.",
        )
    if is_new and batches_of(names, stream):
        raise FilesRefusedError(
            sink.display_name,
            why=f"It holds batches of {stream}, and their ledger beside it, "
            f"{hidden_name(directory.name)}, is gone.",
            how="Put the ledger back, or write into a new directory.",
        )
    _check_newest(directory, states, df=df, sink=sink, stream=stream)


def find_unexpected(directory: Directory) -> str | None:
    """Return the name of something that readers see and that is no batch; None without one."""
    listing = directory.mover.list(directory.name)
    names = [*listing.directories, *(each.path.rpartition("/")[2] for each in listing.files)]
    seen = (name for name in names if not name.startswith((".", "_")))
    return next((name for name in seen if parse_batch(name) is None), None)


def _check_session(directory: Directory, sink: Files, df: DataFrame) -> None:
    master = str(df.sparkSession.conf.get("spark.master", "local"))
    if directory.mover.location.is_local and not master.startswith("local"):
        raise ConfigError(
            f"{sink.display_name} is on the driver's disk, and the executors of {master} have "
            "disks of their own. Use hf.Delta."
        )


def _check_names(sink: Files, df: DataFrame) -> None:
    """See that the JVM writes the names of files as they are, where they can be more than ASCII.

    Its locale decides that, and not its file.encoding: with LC_ALL=C every other letter is a `?`.
    """
    kinds = columns_of(df.schema)
    has_texts = any(kinds.get(name) == "string" for name in sink.partition_by)
    if not has_texts and "".join((sink.path, *sink.partition_by)).isascii():
        return
    asked = df.sparkSession.sql(_ENCODING).first()
    encoding = "" if asked is None else str(asked[0])
    if encoding.upper().replace("-", "") != "UTF8":
        raise ConfigError(
            f"Spark's JVM writes names of files in {encoding}, so two values of a column of "
            "partition_by= could get one directory, and names beyond ASCII are lost. Start it with "
            "a locale of UTF-8, for example: LC_ALL=C.UTF-8."
        )


def _states(directory: Directory) -> dict[str, State]:
    """Return what is there of every stream; each look lists all batches, so there is one."""
    found = {each: directory.read(each) for each in directory.streams()}
    return {stream: state for stream, state in found.items() if state is not None}


def _check_formats(states: Mapping[str, State], sink: Files) -> None:
    """See that no stream writes another format there."""
    for each, state in states.items():
        if state.record.format != sink.format:
            raise FilesRefusedError(
                sink.display_name,
                why=f"{each} writes {state.record.format} there: readers take all files for one.",
                how="Write into a new directory.",
            )


def _check_newest(
    directory: Directory, states: Mapping[str, State], *, df: DataFrame, sink: Files, stream: str
) -> None:
    """See that readers take the newest files of every stream and those that come for one table."""
    for each in sorted(states, key=lambda name: (name != stream, name)):
        state = states[each]
        if not state.batches:
            continue
        try:
            found = directory.note(state.batches[-1])
        except FilesLedgerError:
            continue  # the ledger says so itself
        brought = columns_of(df.schema)
        # Another stream may have columns that this one has not: readers are given a schema.
        has = {name: kind for name, kind in found.columns.items() if name in brought}
        other = find_other_columns(found.columns if each == stream else has, brought)
        if found.partition_by != tuple(sink.partition_by):
            shown = ", ".join(found.partition_by) or "nothing"
            other = f"{each} partitions them by {shown}"
        if other is not None:
            raise FilesRefusedError(
                sink.display_name,
                why=f"Readers would not see one table: {other}.",
                how="Change the query or partition_by=, or write into a new directory.",
            )
