"""What the rules about Iceberg's own sink share: what the query of a checkpoint has written."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.iceberg import IcebergOutput, IcebergWriter


def find_written(case: Case) -> Iterator[tuple[IcebergOutput, IcebergWriter | None]]:
    """Yield each Iceberg table of a case, and what the query has written into it.

    Nothing when the query has no readable id. A table whose branch the query writes is left out:
    Iceberg's sink compares batches with those of `main`.
    """
    metadata = case.checkpoint.metadata
    if not isinstance(metadata, QueryMetadata):
        return
    for output in case.outputs:
        if not isinstance(output, IcebergOutput):
            continue
        writer = output.writer(metadata.query_id)
        if writer is None or writer.newest_on_branch <= writer.newest:
            yield output, writer
