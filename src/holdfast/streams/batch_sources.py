"""A batch DataFrame that holds exactly one range of one source, or why there is none."""

from __future__ import annotations

import json
from typing import Any, assert_never

from holdfast.ledger.source_ranges import DeltaRange, FileRange, KafkaRange, SourceRange
from holdfast.streams.batch_delta import delta_batch
from holdfast.streams.batch_reader import Make, NoBatchForm, Reading

_KAFKA_ONLY_STREAMING = (
    *("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"),
    *("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp"),
    *("startingoffsetsbytimestampstrategy", "endingoffsets", "endingtimestamp"),
    *("subscribe", "subscribepattern", "assign"),
)
_FILES_ONLY_STREAMING = (
    *("path", "basepath", "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage"),
    *("filenameonly", "cleansource", "sourcearchivedir", "maxcachedfiles"),
    *("discardcachedinputratio",),
)
_GLOB = frozenset("*?[]{}\\")


def source_batch(spark: Any, reading: Reading, found: SourceRange) -> Make | NoBatchForm:
    """Return what opens a batch DataFrame with exactly a range of a source."""
    match found:
        case KafkaRange():
            return _kafka(spark, reading, found)
        case DeltaRange():
            return delta_batch(spark, reading, found)
        case FileRange():
            return _files(spark, reading, found)
        case _:
            assert_never(found)


def _kafka(spark: Any, reading: Reading, found: KafkaRange) -> Make | NoBatchForm:
    if (reading.format or "").lower() != "kafka":
        return NoBatchForm(f"the checkpoint has Kafka offsets, and the code reads {reading.format}")
    partitions = {topic: sorted(offsets) for topic, offsets in found.end.items()}
    options = {
        **reading.without(_KAFKA_ONLY_STREAMING),
        "assign": json.dumps(partitions),
        "startingOffsets": json.dumps(found.start),
        "endingOffsets": json.dumps(found.end),
    }
    return lambda: spark.read.format("kafka").options(**options).load()


def _files(spark: Any, reading: Reading, found: FileRange) -> Make | NoBatchForm:
    if reading.path is None:
        return NoBatchForm("the checkpoint has a log of files, and the code reads no files")
    reader = spark.read
    if reading.format is not None:
        reader = reader.format(reading.format)
    if reading.schema is not None:
        reader = reader.schema(reading.schema)
    options = {**reading.without(_FILES_ONLY_STREAMING), "__globPaths__": "false"}
    if not _GLOB.intersection(reading.path):
        options["basePath"] = reading.path  # as Spark's file source does, for partition columns
    return lambda: reader.options(**options).load(list(found.files))
