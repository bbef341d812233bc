"""What Spark tells of every query of a session, as the lines of its event log.

Without secrets: what is written down here may be read by many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from pyspark import SparkContext
from pyspark.sql.streaming.listener import JStreamingQueryListener, StreamingQueryListener

from holdfast.formats.event_log.parsing import DESCRIBED, EVENT_CLASS, hide_setting
from holdfast.redact import redact
from holdfast.spark.errors import unplanned

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

_MILLISECONDS_TO_HEAR = 10_000
_SQL = "spark.sql."
_CATALOGS = f"{_SQL}catalog."
"""Their settings can be keys and headers of any name."""
_RECORDED = (_SQL, "spark.app.name", "spark.master")
"""Settings that can matter for a restart; credentials have other names."""


class _ProgressAsText(JStreamingQueryListener):
    """Takes the progress of a query as one text.

    PySpark asks the JVM for each field of it, with some hundred questions for a batch.
    """

    def __init__(self, listener: QueryListener) -> None:
        """Hand everything on to a listener."""
        super().__init__(listener)
        self._listener = listener

    def onQueryProgress(self, jevent: JavaObject) -> None:  # noqa: N802
        """Take a batch."""
        self._listener.take_progress(jevent.progress().json())

    def onQueryIdle(self, jevent: JavaObject) -> None:  # noqa: N802
        """Take nothing."""


class QueryListener(StreamingQueryListener):
    """Hands every event on as a line. It is called by Spark, and never raises."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        """Hand events on to a function, which must not wait."""
        self._take = take
        self._in_jvm: JavaObject | None = None

    @property
    def _jlistener(self) -> JavaObject:
        if self._in_jvm is None:
            jvm = SparkContext._jvm
            assert jvm is not None
            self._in_jvm = jvm.PythonStreamingQueryListenerWrapper(_ProgressAsText(self))
        return self._in_jvm

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Take a start; Spark waits for this."""
        fields = {"id": event.id, "runId": event.runId, "name": event.name}
        self._hand_on("QueryStartedEvent", {**fields, "timestamp": event.timestamp})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Take a batch."""
        self.take_progress(event.progress.json)

    def take_progress(self, text: str) -> None:
        """Take a batch, as Spark writes it into its event log."""
        progress = msgspec.json.decode(text)
        if "addBatch" not in progress.get("durationMs", ()):
            return  # a trigger that ran no batch: an idle query would fill the record
        for each in (*progress.get("sources", ()), progress.get("sink") or {}):
            each["description"] = redact(str(each.get("description")))
        self._hand_on("QueryProgressEvent", {"progress": progress})

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Take nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Take an end."""
        error = None if event.exception is None else redact(str(event.exception))
        name = getattr(event, "errorClassOnException", None)
        fields = {"id": event.id, "runId": event.runId, "exception": error}
        self._hand_on("QueryTerminatedEvent", {**fields, "errorClassOnException": name})

    def _hand_on(self, kind: str, fields: Mapping[str, object]) -> None:
        event: dict[str, object] = {"Event": f"{EVENT_CLASS}{kind}"}
        event |= {key: _plain(value) for key, value in fields.items()}
        self._take(msgspec.json.encode(event))


def _plain(value: object) -> object:
    return value if isinstance(value, dict | None) else str(value)


def listen_to_queries(spark: SparkSession, take: Callable[[bytes], None]) -> Callable[[], None]:
    """Hand on every event from now on; return what stops that, after those that were told."""
    listener = QueryListener(take)
    spark.streams.addListener(listener)

    def stop() -> None:
        # A JVM that is gone tells nothing any more.
        with suppress(*unplanned()):  # PySpark takes its objects away when a session is stopped
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_MILLISECONDS_TO_HEAR)
        with suppress(*unplanned()):
            spark.streams.removeListener(listener)

    return stop


def describe_application(spark: SparkSession) -> Iterator[bytes]:
    """Yield the lines with which the log of an application begins."""
    context = spark.sparkContext
    settings = [
        [name, hide_setting(name, value)]
        for name, value in context.getConf().getAll()
        if name.startswith(_RECORDED) and not name.startswith(_CATALOGS)
    ]
    for event in (
        {"Event": "SparkListenerLogStart", "Spark Version": spark.version},
        {"Event": "SparkListenerApplicationStart", "App ID": context.applicationId},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings},
    ):
        yield msgspec.json.encode(event)


def describe_run(spark: SparkSession, query_id: str, run_id: str) -> bytes | None:
    """Return the line that Spark's own log lacks: the checkpoint and the output mode of a run.

    None if the query has ended already, or does not say.
    """
    try:
        found = spark._jsparkSession.streams().get(query_id)
        if found is None:
            return None
        query = found.streamingQuery()
        described = {
            "Event": DESCRIBED,
            "id": query_id,
            "runId": run_id,
            "checkpoint": redact(str(query.resolvedCheckpointRoot())),
            "outputMode": str(query.outputMode().toString()).lower(),
        }
    except unplanned():
        return None
    return msgspec.json.encode(described)
