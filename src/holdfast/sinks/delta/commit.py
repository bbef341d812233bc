"""One commit to a Delta table that is ours: under its application id and version, with a note.

Delta says nothing when it leaves a commit out because its version is not higher: so who commits
looks into the log afterwards. Appends take all three as options of the write; MERGE knows settings
only, and only those of the session that runs it: set, and unset again. A session that the program
shares is not that session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from holdfast.sinks.delta.failures import SAME_APPLICATION, failure_of
from holdfast.sinks.spark_merge import VIEW, merge_source, merge_statement
from holdfast.spark.errors import spark_errors
from holdfast.spark.exact_parquet import exact_timestamps
from holdfast.spark.port import own_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.sinks.delta.target import Target


COMMITTING = (
    "spark.databricks.delta.write.txnAppId",
    "spark.databricks.delta.write.txnVersion",
    "spark.databricks.delta.commitInfo.userMetadata",
)
"""The settings under which Delta commits; left behind, they make it leave out other commits."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who commits, and what."""

    app: str
    version: int
    note: str


@contextmanager
def landing(is_there: Callable[[], bool], shown: str) -> Iterator[None]:
    """Have Spark commit; what is in the log counts, whatever was said of it.

    Args:
        is_there: Whether the log has the commit.
        shown: The table as people know it.
    """
    try:
        yield
    except spark_errors() as error:
        if SAME_APPLICATION not in str(error) and not is_there():
            raise failure_of(error, shown) or error from error


def append(rows: DataFrame, target: Target, identity: Identity) -> None:
    """Append rows; none at all is a commit too.

    `save` and `saveAsTable` would create a table that was dropped meanwhile; this never does.
    """
    writer = rows.writeTo(target.name).option("txnAppId", identity.app)
    writer = writer.option("txnVersion", str(identity.version))
    with exact_timestamps(rows.sparkSession):
        writer.option("userMetadata", identity.note).append()


def append_nothing(spark: SparkSession, target: Target, identity: Identity) -> None:
    """Commit no rows."""
    nothing = spark.table(target.name).limit(0)
    columns = target.columns or nothing.columns
    append(nothing.select(*columns), target, identity)


def overwrite(rows: DataFrame, target: Target, identity: Identity) -> None:
    """Put rows in the place of everything that the table holds, in one commit."""
    from pyspark.sql.functions import lit

    writer = rows.writeTo(target.name).option("txnAppId", identity.app)
    writer = writer.option("txnVersion", str(identity.version))
    with exact_timestamps(rows.sparkSession):
        writer.option("userMetadata", identity.note).overwrite(lit(True))


def merge(rows: DataFrame, target: Target, identity: Identity) -> None:
    """Merge rows by the target's keys."""
    source = merge_source(rows, target)
    with (
        own_view(rows.sparkSession, source, VIEW) as (session, view),
        _committing_as(session, identity),
        exact_timestamps(session),
    ):
        session.sql(merge_statement(rows.columns, target, view=view))


@contextmanager
def _committing_as(session: SparkSession, identity: Identity) -> Iterator[None]:
    values = (identity.app, str(identity.version), identity.note)
    try:
        for name, value in zip(COMMITTING, values, strict=True):
            session.conf.set(name, value)
        yield
    finally:
        for name in COMMITTING:
            session.conf.unset(name)
