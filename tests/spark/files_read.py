"""Reads a directory of files as a program does that knows nothing of Holdfast."""

from __future__ import annotations

from typing import Any

import holdfast as hf
from holdfast.sinks.files.staging import TEXT_OPTIONS


def rows_read(sink: hf.Files, spark: Any, columns: str) -> list[tuple[Any, ...]]:
    """Return the rows that Spark reads from the directory itself, whatever is in it."""
    options = {**TEXT_OPTIONS[sink.format], "multiLine": str(sink.format == "csv")}
    reader = spark.read.format(sink.format).options(**options).schema(f"{columns}, hf_batch string")
    return [tuple(row)[:-1] for row in reader.load(sink.path).collect()]
