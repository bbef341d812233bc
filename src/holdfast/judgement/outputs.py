"""Looks into sinks without a ledger: which kind one is follows from what lies in its directory."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.delta_reader import read_delta_output
from holdfast.evidence.outputs.file_reader import read_file_output
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.iceberg_reader import read_iceberg_output
from holdfast.evidence.outputs.output import NotRead, Output
from holdfast.redact import redact
from holdfast.storage.open import open_reader
from holdfast.storage.read import Listing, Reader

_BATCH_JOBS = "it was written by df.write, which leaves nothing that tells which batches it holds"
_DATA = (".parquet", ".json", ".csv", ".orc", ".txt", ".avro")


def read_output(location: str, options: Mapping[str, str]) -> Output:
    """Return what a sink holds, or why that is not known."""
    shown = redact(location)
    try:
        reader = open_reader(location, options)
    except HoldfastError as error:
        return NotRead(display_name=shown, why=error.why)
    return look_into(reader, shown)


def look_into(reader: Reader, shown: str) -> Output:
    """Return what a sink holds, or why that is not known, by a reader of its directory."""
    try:
        there = reader.list()
        if "_delta_log" in there.directories:
            return _placed(read_delta_output(reader, f"the Delta table {shown}"), reader)
        if _is_of_batch_jobs(there):
            return NotRead(display_name=shown, why=_BATCH_JOBS)
        if "_spark_metadata" in there.directories or _has_data(there):
            return _placed(read_file_output(reader, f"the file output {shown}"), reader)
        if "metadata" in there.directories:
            return read_iceberg_output(reader, f"the Iceberg table {shown}")
    except HoldfastError as error:
        return NotRead(display_name=shown, why=error.why)
    why = "there is no _delta_log, _spark_metadata, Iceberg metadata or data file in it"
    return NotRead(display_name=shown, why=why)


def _placed(found: DeltaOutput | FileOutput | NotRead, reader: Reader) -> Output:
    """Return an output that says where it is."""
    return (
        found
        if isinstance(found, NotRead)
        else replace(found, location=redact(str(reader.location)))
    )


def _is_of_batch_jobs(there: Listing) -> bool:
    """Return whether `df.write` made it, as in a function for foreachBatch; not the file sink."""
    names = {info.path.rpartition("/")[2] for info in there.files}
    return "_SUCCESS" in names and "_spark_metadata" not in there.directories


def _has_data(there: Listing) -> bool:
    """Return whether there are files as Spark's file sink writes them, without its log."""
    names = (info.path.rpartition("/")[2] for info in there.files)
    return any(name.startswith("part-") and name.endswith(_DATA) for name in names)
