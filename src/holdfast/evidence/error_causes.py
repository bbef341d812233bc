"""Why Spark fails: the causes that an error can name, what each means, and what repairs it.

`holdfast.evidence.error_index` says which error names which cause. The page
docs/reference/error-index.md is made from both.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Meaning(NamedTuple):
    """What a cause means, and what to do about it; sentences."""

    what: str
    how: str


class Cause(Enum):
    """A reason why a query stopped, or does not start."""

    # A start after these is right, or harmless.
    KILLED = Meaning(
        "The driver was ended from outside. An ended driver leaves the checkpoint as it was.",
        "Find out who ended it and why, such as its memory limit. Then restart it.",
    )
    TRANSIENT = Meaning(
        "The error is of this run alone: the checkpoint is not involved.",
        "Restart the query. If the same error returns, look at the brokers and executors.",
    )
    ADDED_COLUMNS = Meaning(
        "The query stopped because the schema of its source changed. It stops by design: the next "
        "start reads with the new schema.",
        "Restart the query. Do not delete the checkpoint.",
    )
    # The batch.
    BATCH_FAILS = Meaning(
        "The batch fails in the code of the query or of the sink. Its range is already planned, so "
        "every restart runs the same rows again. Rate limits do not change a planned batch.",
        "Fix the code, or make it tolerate the row that fails. Then restart on this checkpoint.",
    )
    OUT_OF_MEMORY = Meaning(
        "The batch needs more memory than there is. Its range is already planned: every restart "
        "runs the same rows, and maxOffsetsPerTrigger does not change a planned batch.",
        "Give one run more memory. Set a rate limit for the batches after it.",
    )
    POISON_RECORD = Meaning(
        "A record of the batch cannot be parsed. Every restart reads the same record.",
        "Parse in permissive mode, or filter the record. Then restart on this checkpoint.",
    )
    NOT_CONSUMED = Meaning(
        "The foreachBatch function did not read all rows of the batch, so some partitions of the "
        "state were not written.",
        "Have the function read the complete batch: no limit, no isEmpty, no swallowed exception.",
    )
    # Two at once.
    TWO_DRIVERS = Meaning(
        "Two drivers wrote to the same checkpoint. A sink without a ledger can hold a batch twice, "
        "or hold other rows than the checkpoint says.",
        "Stop every driver of this query. Compare the sink with the last batches, then start one.",
    )
    SAME_QUERY_ACTIVE = Meaning(
        "A query on this checkpoint already runs in the same application.",
        "Give each query its own checkpoint.",
    )
    # Kafka.
    KAFKA_EXPIRED = Meaning(
        "Kafka has deleted records that the checkpoint still needs. They cannot be read any more.",
        "Look for the records in another copy and backfill them. Then start once with "
        "failOnDataLoss=false. Raise the retention above your longest outage.",
    )
    KAFKA_RECREATED = Meaning(
        "The topic ends before the offset in the checkpoint: it was deleted and created again, or "
        "the broker is another one. With failOnDataLoss=false Spark never reads the records of the "
        "new topic below that offset.",
        "Reset the stream with starting offsets for the new topic.",
    )
    KAFKA_SUBSCRIPTION = Meaning(
        "The partitions that the query reads are not those in the checkpoint: a topic was removed, "
        "or an old topic was added, which Spark reads from its beginning.",
        "Start the query with its old topics. Give new topics a stream of their own.",
    )
    # State.
    STATE_FILE_MISSING = Meaning(
        "A file of the state is missing or cannot be read. Spark cannot load the state.",
        "Restore the file from a version or a backup of the bucket. Look for lifecycle rules that "
        "delete files below the checkpoint. Do not create an empty file, and do not delete state/.",
    )
    STATE_FILES_DISAGREE = Meaning(
        "Files of the state do not belong together, or do not match their checksums.",
        "Restore the state files from a backup, or go back to an older batch with complete state. "
        "Upgrade Spark: several versions write such files after a retried task.",
    )
    STATE_SCHEMA = Meaning(
        "The query's state has another schema than the state in the checkpoint: a key, an "
        "aggregate or a deduplicated column was added, removed or changed.",
        "Start the old code, or reset the stream. Do not turn off stateSchemaCheck: Spark would "
        "read the old rows with the wrong layout.",
    )
    OPERATOR_CHANGED = Meaning(
        "The stateful operators of the query are not those in the checkpoint: one was added, "
        "removed or moved.",
        "Start the old code, or reset the stream.",
    )
    UNFINISHED_REPARTITION = Meaning(
        "A repartition of the state began on this checkpoint and did not end.",
        "Run the same repartition again, with the same number of partitions, until it ends.",
    )
    # The logs of the checkpoint.
    LOG_GAP = Meaning(
        "An entry of the offset log is missing.",
        "Restore the entry from a backup. Do not delete the newest offset entry, as the message "
        "advises: a sink that knows the batch drops the new one.",
    )
    LOG_DAMAGED = Meaning(
        "A file of the checkpoint is empty or cut off.",
        "Restore the file from a backup. Delete an offset entry only if the sink has no row of its "
        "batch.",
    )
    METADATA_GONE = Meaning(
        "The file metadata is gone: the query would get a new id, and sinks would not recognise "
        "its batches.",
        "Write the old query id back into metadata. A driver log or the sink's history has it.",
    )
    PARTLY_DELETED = Meaning(
        "The logs were deleted and the state was left: the checkpoint is half reset.",
        "Restore the logs, or start with an empty checkpoint in another directory.",
    )
    NEWER_LOG = Meaning(
        "A newer version of Spark or of the connector wrote the checkpoint.",
        "Start the version that wrote it. An older version cannot read it.",
    )
    SOURCES_CHANGED = Meaning(
        "The query has another number of sources than the checkpoint, or other names of them.",
        "Start the query with its old sources. Give a new source a stream of its own.",
    )
    RENAME_FAILED = Meaning(
        "The store did not complete the rename of a checkpoint file.",
        "Check that one driver runs. Then restart it. Keep checkpoints on a store with an atomic "
        "rename, or with conditional writes.",
    )
    CANNOT_RECOVER = Meaning(
        "The sink of this query cannot go on from a checkpoint. The message advises to delete "
        "offsets/. On the checkpoint of another query that deletes its progress.",
        "Do not delete offsets/. Give the console or memory sink a checkpoint of its own.",
    )
    NO_CHECKPOINT = Meaning(
        "The query was started without a checkpoint location.",
        "Set checkpointLocation to the directory of this stream.",
    )
    # File sinks and sources.
    FILE_SINK_LOG = Meaning(
        "The log of the file sink, _spark_metadata, lacks an entry: it was deleted, or the output "
        "directory is another one.",
        "Restore _spark_metadata, or start with the old output directory. Without the log, use a "
        "new output directory together with a new checkpoint.",
    )
    INPUT_FILE_GONE = Meaning(
        "A file that a planned batch reads is gone.",
        "Restore the file. ignoreMissingFiles would skip its rows without a message.",
    )
    # Tables as sources.
    DELTA_OTHER_TABLE = Meaning(
        "The Delta table has another id than the one in the checkpoint: it was dropped and "
        "created again, or the path leads elsewhere.",
        "Reset the stream with a startingVersion of the new table. Deleting the checkpoint alone "
        "reads every row again.",
    )
    DELTA_HISTORY_GONE = Meaning(
        "The Delta table no longer has the commits or files that come after the checkpoint: its "
        "log or its files were cleaned up while the stream was behind.",
        "Reset the stream with startingVersion at the earliest version, and backfill the rest from "
        "the current table. failOnDataLoss=false skips the rows without a message.",
    )
    TABLE_NOT_APPEND = Meaning(
        "The source table was updated, deleted from or overwritten, and the stream reads appends.",
        "Read the change data feed and merge it. skipChangeCommits loses the changed rows, and "
        "ignoreChanges duplicates rows.",
    )
    DELTA_SCHEMA = Meaning(
        "A column of the Delta source was renamed, dropped or changed its type. A restart alone "
        "does not help.",
        "Set schemaTrackingLocation inside the checkpoint, and the setting that the message names "
        "for this version. Then restart.",
    )
    SNAPSHOT_EXPIRED = Meaning(
        "The Iceberg snapshot in the checkpoint was expired. The rows after it cannot be planned.",
        "Reset the stream with stream-from-timestamp at the next snapshot, and backfill the gap.",
    )
    POSITION_EXPIRED = Meaning(
        "The source no longer has the position in the checkpoint.",
        "Find out which rows were cleaned up. Reset the stream from the earliest position, and "
        "backfill the gap.",
    )
    # Sinks.
    SINK_FORGETS = Meaning(
        "The sink remembers its last batch in memory alone. After a restart it writes the pending "
        "batch again.",
        "Treat the sink as at-least-once: deduplicate by a key, or write in foreachBatch with a "
        "ledger.",
    )
    OTHER = Meaning(
        "Holdfast does not know this error.",
        "Read the message. Do not delete the checkpoint before you know the cause.",
    )

    @property
    def means(self) -> str:
        """What it means, in sentences."""
        return self.value.what

    @property
    def remedy(self) -> str:
        """What to do, in sentences."""
        return self.value.how
