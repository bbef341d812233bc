"""The data source as Spark sees it: `HoldfastSource`, and the writer of one batch.

Spark makes both anew for every batch, in processes of its own: in a planner, which asks for the
writer before the tasks run; in every task, which gets a copy of that writer; and in a process that
commits, which makes another one. So a writer knows what was found out in its own process only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

from holdfast.datasource.answer import Answer, Claim
from holdfast.datasource.versions import refuse_version
from holdfast.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceStreamArrowWriter as _Writer
    from pyspark.sql.types import StructType
else:
    # From Spark 4.1 on. Without it, a session that looks for data sources must still go on.
    _Writer = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)

NAME = "holdfast"
_QUERY, _RUN, _BATCH = "sql.streaming.queryId", "spark.jobGroup.id", "streaming.sql.batchId"
"""Local properties of a task: Spark does not tell a writer its batch."""


class HoldfastSource(DataSource):
    """Writes a streaming query into a sink of Holdfast, as a guarded stream."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        """Be made for a batch that is planned, or to be sent to where one is committed."""
        super().__init__(options)
        self._is_planning = True

    def __getstate__(self) -> dict[str, object]:
        """Return what is sent to the process that commits: it plans nothing."""
        return {**vars(self), "_is_planning": False}

    @classmethod
    def name(cls) -> str:
        """Return what follows `format`."""
        return NAME

    def streamWriter(self, schema: StructType, overwrite: bool) -> HoldfastWriter:  # noqa: N802 - Spark's own
        """Return the writer of a batch; before its tasks run, the start is guarded here.

        Raises:
            HoldfastError: The query must not write; nothing was written.
        """
        if _Writer is DataSourceStreamWriter:
            refuse_version(pyspark.__version__)
        if overwrite:
            raise ConfigError(
                "Output mode complete writes the whole result with every batch, and the data "
                "source appends or merges. Use another output mode, or hf.start with keys."
            )
        claimed = _claim(self.options, schema) if self._is_planning else None
        return HoldfastWriter(self.options, schema, claimed)


def _claim(options: Mapping[str, str], schema: StructType) -> Claim:
    from holdfast.datasource.claim import claim
    from holdfast.datasource.options import read_options
    from holdfast.spark.arrow import arrow_schema_of

    return claim(read_options(options), arrow_schema_of(schema))


class HoldfastWriter(_Writer):
    """One batch: planned, written by tasks, committed."""

    def __init__(
        self, options: Mapping[str, str], schema: StructType, claimed: Claim | None
    ) -> None:
        """Know what was asked for, and what the planner has found."""
        self._options = dict(options)
        self._schema = schema
        self._claim = claimed

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of a task; return where they are."""
        from pyspark import TaskContext

        task, claimed = TaskContext.get(), self._claim
        assert task is not None
        assert claimed is not None
        batch = int(task.getLocalProperty(_BATCH) or -1)
        part = claimed.stage.write(
            iterator, batch=batch, partition=task.partitionId(), attempt=task.taskAttemptId()
        )
        return Answer(
            claim=claimed,
            query_id=task.getLocalProperty(_QUERY) or "",
            run_id=task.getLocalProperty(_RUN) or "",
            batch=batch,
            part=part,
        )

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's own
        """Commit what the tasks have staged, as the ledger decides.

        Raises:
            HoldfastError: It was not committed.
        """
        from holdfast.datasource.commit import commit
        from holdfast.datasource.options import read_options

        commit(read_options(self._options), self._schema, messages, batch=batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's own
        """Drop what the tasks have staged; Spark calls it also when a commit has raised."""
        from holdfast.datasource.commit import abort
        from holdfast.datasource.options import read_options

        abort(read_options(self._options), messages, batchId)
