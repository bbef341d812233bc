"""Words of errors that have no condition: of older versions of Spark, and of other connectors."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.evidence.error_causes import Cause


class Message(NamedTuple):
    """Words of an error that has no condition."""

    cause: Cause
    pattern: str
    display_name: str
    """As the page shows it."""


MESSAGES: tuple[Message, ...] = (
    Message(
        Cause.TWO_DRIVERS,
        r"Multiple streaming (?:jobs detected for|queries are concurrently using)",
        "Multiple streaming jobs detected for …",
    ),
    Message(
        Cause.LOG_GAP, r"batch(?:es)? \(?[\d, -]+\)? do(?:es)?n't exist", "batch … doesn't exist"
    ),
    Message(
        Cause.SOURCES_CHANGED,
        r"There are \[\d+\] sources in the checkpoint",
        "There are [1] sources in the checkpoint offsets and now there are [2] …",
    ),
    Message(
        Cause.LOG_DAMAGED,
        r"Incomplete log file|Unexpected end-of-input|ChecksumException: Checksum error",
        "Incomplete log file, Unexpected end-of-input, Checksum error",
    ),
    Message(Cause.SAME_QUERY_ACTIVE, r"Cannot start query with id", "Cannot start query with id …"),
    Message(
        Cause.STATE_FILE_MISSING,
        r"Error reading (?:delta file|snapshot file|streaming state file)",
        "Error reading delta file …",
    ),
    Message(
        Cause.STATE_FILES_DISAGREE,
        r"Mismatch in unique ID on table file|Sst file size mismatch",
        "Mismatch in unique ID on table file …",
    ),
    Message(
        Cause.STATE_SCHEMA,
        r"Provided schema doesn't match to the schema for existing state|StateSchemaNotCompatible",
        "Provided schema doesn't match to the schema for existing state",
    ),
    Message(Cause.NEWER_LOG, r"UnsupportedLogVersion", "UnsupportedLogVersion"),
    Message(
        Cause.KAFKA_RECREATED,
        r"offset was changed from \d+ to \d+",
        "offset was changed from … to …",
    ),
    Message(
        Cause.KAFKA_EXPIRED,
        r"Cannot fetch (?:offset|record)|OffsetOutOfRangeException",
        "Cannot fetch offset … / OffsetOutOfRangeException",
    ),
    Message(
        Cause.KAFKA_SUBSCRIPTION,
        r"(?:Added partition|partition) \S+ starts from \d+ instead of 0|\S-\d+\)? are gone",
        "Added partition … starts from … instead of 0 / … are gone",
    ),
    Message(
        Cause.FILE_SINK_LOG,
        r"_spark_metadata/\d+(?:\.compact)? does\s?n.t exist|\.compact doesn't exist",
        "_spark_metadata/….compact doesn't exist",
    ),
    Message(Cause.RENAME_FAILED, r"rename from \S+ to \S+ failed", "rename from … to … failed"),
    Message(
        Cause.CANNOT_RECOVER,
        r"does not support recovering from checkpoint location",
        "This query does not support recovering from checkpoint location",
    ),
    Message(
        Cause.NO_CHECKPOINT, r"checkpointLocation must be specified", "checkpointLocation must be …"
    ),
    Message(
        Cause.DELTA_SCHEMA,
        r"Detected (?:incompatible|non-additive) schema change",
        "Detected incompatible schema change",
    ),
    Message(
        Cause.TABLE_NOT_APPEND,
        r"Detected (?:a )?(?:deleted data|data update)"
        r"|Cannot process (?:overwrite|delete) snapshot",
        "Detected a data update … / Cannot process overwrite snapshot",
    ),
    Message(
        Cause.SNAPSHOT_EXPIRED,
        r"the snapshot was expired or removed|Cannot load current offset at snapshot",
        "Cannot load current offset at snapshot …, the snapshot was expired or removed",
    ),
    Message(
        Cause.POSITION_EXPIRED,
        r"shard-commit/\S* does not exist|ExpiredIteratorException|ChangeStreamHistoryLost"
        r"|resume point may no longer be in the oplog|expired sequence number"
        r"|is lower than the current available sequence number"
        r"|(?i:hoodie|paimon)\S*.{0,80}(?:snapshot|instant|commit)\S* .{0,40}"
        r"(?:expired|cleaned|does not exist|been deleted)",
        "Kinesis: shard-commit/… does not exist; MongoDB: ChangeStreamHistoryLost; "
        "Event Hubs: expired sequence number; Hudi and Paimon: a snapshot that was cleaned",
    ),
    Message(
        Cause.SINK_FORGETS,
        r"(?:KustoSink|DorisStreamLoadSink|YtStreamingSink)\b",
        "KustoSink, DorisStreamLoadSink or YtStreamingSink in the log",
    ),
    Message(Cause.ADDED_COLUMNS, r"\bUnknownFieldException\b", "UnknownFieldException"),
    Message(
        Cause.OUT_OF_MEMORY,
        r"java\.lang\.OutOfMemoryError|ExecutorLostFailure|Container killed by YARN for exceeding",
        "OutOfMemoryError, ExecutorLostFailure",
    ),
    Message(
        Cause.POISON_RECORD,
        r"SerializationException|Malformed records are detected|AvroRuntimeException"
        r"|BadRecordException",
        "SerializationException, Malformed records are detected",
    ),
    Message(
        Cause.BATCH_FAILS,
        r"\bPythonException\b|Job aborted due to stage failure|Failed to execute user.defined"
        r"|ForeachBatchUserFuncException",
        "PythonException, Job aborted due to stage failure",
    ),
    Message(
        Cause.KILLED,
        r"RECEIVED SIGNAL (?:TERM|HUP|INT)|exit(?:ed with)? (?:code|status):? (?:137|143)\b"
        r"|OOMKilled|\bSIGKILL\b|Exit code is 1(?:37|43)|^Killed$|finalStatus: KILLED",
        "exit code 137, OOMKilled, RECEIVED SIGNAL TERM",
    ),
)

WORDS = re.compile(
    "|".join(f"(?P<m{number}>{each.pattern})" for number, each in enumerate(MESSAGES))
)
"""Every message at once; the group says which."""


def message_of(found: re.Match[str]) -> Message:
    """Return which message was found."""
    return MESSAGES[int((found.lastgroup or "m0")[1:])]
