"""Where the streams of `plain_streams` are killed, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from campaigns.other_sinks import plain_readers
from campaigns.other_sinks.plain_readers import Look, is_one_count, is_whole
from holdfast.drills.history import Row
from holdfast.drills.kill import Named, Rename, Send
from holdfast.drills.phases import Phase

CHECKPOINT = ("offsets-before", "commits-before", "replay")
"""The phases of a checkpoint in which something can go wrong: in the others the sink is at rest."""
TABLE = ("offsets-before", "log-before", "commits-before")
"""The same of a table that has a log: a batch is in it at one moment."""


def _in_the_write(*kills: Rename | Send) -> Phase:
    return Phase(name="in-the-write", display_name="some tasks have written, not all", kills=kills)


# The last rows of the first and of the fourth batch: two cores have three other tasks before.
_LAST_TASK = _in_the_write(Send("before", "row-000199"), Send("before", "row-000799"))
_DELETED = Phase(
    name="deleted",
    display_name="deleted, nothing inserted",
    kills=(Named("deleted"), Named("deleted", 4)),
)
_FILES_WRITTEN = _in_the_write(
    Rename("before", "_spark_metadata/0"), Rename("before", "_spark_metadata/3")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A stream of `plain_streams`, where it is killed, and how it is read."""

    name: str
    display_name: dict[str, str]
    """A line of the table for each reader that finds something else."""
    look: Look
    read: str | None = None
    only: Sequence[str] = CHECKPOINT
    also: Sequence[Phase] = ()
    is_whole: Callable[[list[Row]], bool] = is_whole


SINKS = {
    sink.name: sink
    for sink in (
        Sink(
            name="jdbc_append",
            display_name={"sink": "`foreachBatch`, JDBC append"},
            look=plain_readers.look_at_table,
            read="read_jdbc",
            also=(_LAST_TASK,),
        ),
        Sink(
            name="jdbc_delete_insert",
            display_name={"sink": "`foreachBatch`, delete by batch id, then JDBC append"},
            look=plain_readers.look_at_table,
            read="read_jdbc",
            also=(_DELETED, _LAST_TASK),
        ),
        Sink(
            name="mariadb_append",
            display_name={"sink": "`foreachBatch`, JDBC append to MariaDB, rewritten batches"},
            look=plain_readers.look_at_mariadb,
            read="read_mariadb",
            also=(_LAST_TASK,),
        ),
        Sink(
            name="files",
            display_name={
                "spark": "Parquet file sink, read by Spark",
                "others": "Parquet file sink, read by anything else",
            },
            look=plain_readers.look_at_files,
            read="read_files",
            also=(_FILES_WRITTEN,),
        ),
        Sink(
            name="kafka",
            display_name={"sink": "Kafka sink, `read_committed`"},
            look=plain_readers.look_at_topic,
            read="read_kafka",
            also=(_LAST_TASK,),
        ),
        Sink(
            name="delta_native",
            display_name={"sink": "Delta's own sink"},
            look=plain_readers.look_at_delta,
            only=TABLE,
        ),
        Sink(
            name="delta_append",
            display_name={"sink": "`foreachBatch`, Delta append"},
            look=plain_readers.look_at_delta,
            only=TABLE,
        ),
        Sink(
            name="delta_merge",
            display_name={"sink": "`foreachBatch`, Delta `MERGE` by key"},
            look=plain_readers.look_at_delta,
            only=TABLE,
        ),
        Sink(
            name="counts_upsert",
            display_name={"sink": "counted with state, `foreachBatch` with an upsert"},
            look=plain_readers.look_at_table,
            read="read_jdbc",
            only=(*CHECKPOINT, "state-some"),
            is_whole=is_one_count,
        ),
    )
}
