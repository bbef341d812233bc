"""The options of a source that a contract keeps: by an allow-list, because others hold passwords.

What is kept says what is read, from where on, and how much at a time: enough to open the source
again with credentials from elsewhere. Names are those of Spark's Kafka, file and rate sources, and
of Delta's source; Spark ignores their case.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.record.bounds import MAX_TEXT
from holdfast.redact import redact, redact_location

_PLACES = ("basePath", "path", "sourceArchiveDir")
_KEPT = (
    *_PLACES,
    "advanceMillisPerBatch",
    "assign",
    "cleanSource",
    "failOnDataLoss",
    "fileNameOnly",
    "ignoreChanges",
    "ignoreDeletes",
    "includeHeaders",
    "kafka.bootstrap.servers",
    "kafka.isolation.level",
    "latestFirst",
    "maxBytesPerTrigger",
    "maxFileAge",
    "maxFilesPerTrigger",
    "maxOffsetsPerTrigger",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
    "minPartitions",
    "numPartitions",
    "pathGlobFilter",
    "rampUpTime",
    "readChangeFeed",
    "recursiveFileLookup",
    "rowsPerBatch",
    "rowsPerSecond",
    "skipChangeCommits",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingVersion",
    "subscribe",
    "subscribePattern",
)
_NAMES = {name.lower(): name for name in _KEPT}


def keep_options(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the options that are safe to write down, under Spark's names for them.

    Credentials in a URL are taken out. A value that is too long for a contract is left out.
    """
    kept = {}
    for key, value in given:
        name = _NAMES.get(key.lower())
        if name is not None and len(value) <= MAX_TEXT:
            kept[name] = redact_location(value) if name in _PLACES else redact(value)
    return kept
