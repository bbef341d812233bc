"""From an offset's text to what it says, by its shape: an offset does not name its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.checkpoint.sources.auto_loader import AutoLoaderOffset, make_auto_loader_offset
from holdfast.checkpoint.sources.delta import DeltaOffset, make_delta_offset
from holdfast.checkpoint.sources.files import FileOffset, make_file_offset
from holdfast.checkpoint.sources.iceberg import IcebergOffset, make_iceberg_offset
from holdfast.checkpoint.sources.kafka import KafkaOffset, parse_kafka_offset
from holdfast.checkpoint.sources.rate import (
    CountOffset,
    RateMicroBatchOffset,
    make_rate_micro_batch_offset,
)
from holdfast.checkpoint.text import parse_json, whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueOffset:
    """An offset of a source Holdfast does not know: shown, compared, never interpreted."""

    text: str


Offset = (
    AutoLoaderOffset
    | CountOffset
    | DeltaOffset
    | FileOffset
    | IcebergOffset
    | KafkaOffset
    | RateMicroBatchOffset
    | OpaqueOffset
)

# The first that fits wins. None of these can be taken for Kafka's, whose values are all objects.
_OBJECTS: tuple[Callable[[dict[str, Any]], Offset | None], ...] = (
    make_file_offset,
    make_delta_offset,
    make_iceberg_offset,
    make_auto_loader_offset,
    make_rate_micro_batch_offset,
)


def parse_offset(text: str) -> Offset:
    """Say what an offset's text means; what is not known is opaque, never an error."""
    # Kafka's first: by far the largest, and decoded without building generic objects.
    if (kafka := parse_kafka_offset(text)) is not None:
        return kafka
    found = parse_json(text)
    if (number := whole_number(found)) is not None:
        return CountOffset(value=number)
    if isinstance(found, dict):
        for make in _OBJECTS:
            if (offset := make(found)) is not None:
                return offset
    return OpaqueOffset(text=text)
