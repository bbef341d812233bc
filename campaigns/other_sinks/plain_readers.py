"""Reads the sinks of `plain_streams` without Spark, while drivers run and die beside it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from urllib.parse import urlparse

import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from psycopg import sql
from pyarrow import ArrowInvalid, parquet

from campaigns.other_sinks.plain_streams import DSN, KAFKA, ask_mariadb, name_in
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.drills.drill import Seen, Write
from holdfast.drills.history import Row
from holdfast.drills.polling_reader import polling_reader
from holdfast.storage.open import open_reader

ROWS_PER_FILE = 200
Look = Callable[[Path], dict[str, list[Row]]]
"""Returns what each kind of reader finds in the sink of a place."""


def look_at_table(home: Path) -> dict[str, list[Row]]:
    """Read the table in PostgreSQL."""
    table = sql.Identifier(name_in(home))
    with psycopg.connect(os.environ[DSN]) as connection:
        there = connection.execute("SELECT to_regclass(%s)", [name_in(home)]).fetchone()
        if there == (None,):
            return {"sink": []}
        return {"sink": connection.execute(sql.SQL("SELECT * FROM {}").format(table)).fetchall()}


def look_at_mariadb(home: Path) -> dict[str, list[Row]]:
    """Read the table in MariaDB."""
    if not ask_mariadb(f"SHOW TABLES LIKE '{name_in(home)}'"):
        return {"sink": []}
    return {"sink": ask_mariadb(f"SELECT * FROM {name_in(home)}")}  # noqa: S608


def look_at_files(home: Path) -> dict[str, list[Row]]:
    """Read the files that Spark's own log names, and all that are there."""
    logs = [path for path in home.glob("sink/_spark_metadata/*") if path.name.isdigit()]
    entries = [json.loads(line) for path in logs for line in path.read_text().splitlines()[1:]]
    named = [Path(urlparse(entry["path"]).path) for entry in entries]
    return {"spark": _read(named), "others": _read(home.glob("sink/*.parquet"))}


def _read(files: Iterable[Path]) -> list[Row]:
    """Return the rows of files; one that is being written has none yet."""
    rows: list[Row] = []
    for path in files:
        try:
            rows += [tuple(row.values()) for row in parquet.read_table(path).to_pylist()]
        except ArrowInvalid:
            continue
    return rows


def look_at_topic(home: Path) -> dict[str, list[Row]]:
    """Read all of the topic, as a consumer does that waits for transactions."""
    server = {"bootstrap.servers": os.environ[KAFKA], "log_level": 0, "group.id": "plain"}
    options = {"isolation.level": "read_committed", "enable.partition.eof": True}
    with closing(Consumer({**server, **options})) as consumer:
        found = consumer.list_topics(timeout=10).topics.get(name_in(home))
        partitions = [] if found is None else list(found.partitions)
        starts = [TopicPartition(name_in(home), each, OFFSET_BEGINNING) for each in partitions]
        consumer.assign(starts)
        return {"sink": list(_consume(consumer, partitions=len(partitions)))}


def _consume(consumer: Consumer, *, partitions: int) -> Iterator[Row]:
    """Yield what is there now, until every partition is at its end."""
    while partitions:
        message = consumer.poll(10)
        assert message is not None, "the topic is not read to its end"
        if error := message.error():
            assert error.name() == "_PARTITION_EOF", error
            partitions -= 1
        else:
            yield ((message.value() or b"").decode(),)


def look_at_delta(home: Path) -> dict[str, list[Row]]:
    """Read the newest snapshot."""
    return {"sink": list(DeltaTable(open_reader(str(home / "sink"))).read().rows)}


def is_whole(rows: list[Row]) -> bool:
    """Return whether every batch is there with all of its rows, or not at all."""
    files = Counter(int(row[0].removeprefix("row-")) // ROWS_PER_FILE for row in set(rows))
    return set(files.values()) <= {ROWS_PER_FILE}


def is_one_count(rows: list[Row]) -> bool:
    """Return whether all keys have been counted equally often, as they come in every batch."""
    return len({count for _, count in rows}) <= 1


def polling(look: Look, home: Path, write: Write) -> AbstractContextManager[None]:
    """Look at the sink of a place all the time."""

    def seen() -> list[Seen]:
        return [Seen(sink=name, parts=None, rows=rows) for name, rows in look(home).items()]

    return polling_reader(seen, write)
