"""Whether a directory takes the batches of a stream; looked at before anything is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.sinks.files.columns import check_columns, columns_of, find_other_columns
from holdfast.sinks.files.directory import Directory
from holdfast.sinks.files.failures import FilesLedgerError, FilesRefusedError
from holdfast.sinks.files.layout import batches_of, hidden_name, parse_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.sinks.files.sink import Files

_SPARK_LOG = "_spark_metadata"


def check_target(directory: Directory, sink: Files, *, df: DataFrame, stream: str) -> None:
    """See that a directory takes what a stream brings, and that readers see it there.

    Raises:
        ConfigError: The columns, or the session, do not fit.
        FilesRefusedError: What is in the directory does not.
    """
    check_columns(df.schema, sink)
    _check_session(directory, sink, df)
    names = directory.mover.list(directory.name).directories
    if _SPARK_LOG in names:
        raise FilesRefusedError(
            sink.display_name,
            why=f"It has a {_SPARK_LOG}: Spark reads only the files that this log names.",
            how="Write into a new directory.",
        )
    is_new = _check_formats(directory, sink, stream=stream)
    unexpected = find_unexpected(directory)
    if is_new and unexpected is not None:
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
    _check_newest(directory, sink, df=df, stream=stream)


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


def _check_formats(directory: Directory, sink: Files, *, stream: str) -> bool:
    """See that no stream writes another format there; return whether this one is new."""
    is_new = True
    for each in directory.streams():
        state = directory.read(each)
        if state is None:
            continue
        is_new = is_new and each != stream
        if state.record.format != sink.format:
            raise FilesRefusedError(
                sink.display_name,
                why=f"{each} writes {state.record.format} there: readers take all files for one.",
                how="Write into a new directory.",
            )
    return is_new


def _check_newest(directory: Directory, sink: Files, *, df: DataFrame, stream: str) -> None:
    """See that the files of the newest batch have no column that the stream brings otherwise."""
    state = directory.read(stream)
    if state is None or not state.batches:
        return
    try:
        found = directory.note(state.batches[-1]).columns
    except FilesLedgerError:
        return  # the ledger says so itself
    other = find_other_columns(found, columns_of(df.schema))
    if other is not None:
        raise FilesRefusedError(
            sink.display_name,
            why=f"Readers would not see one table: {other}.",
            how="Change the query, or write into a new directory.",
        )
