"""`holdfast.plan_resume`, `plan_reset` and so on: what a repair would do. Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from holdfast.errors import refuse_unknown
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.goal import GOALS, Code
from holdfast.plan.goals.backfill import Range, range_request
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.streams.pipeline import Pipeline


class Where(TypedDict, total=False):
    """How a stream is found, the same for every goal."""

    root: str | None
    """Of guarded streams; the stream is then its name, else the location of its checkpoint."""
    sources: Mapping[str, str]
    """Where a source is, by its place in the query: `{"0": "broker:9092"}`."""
    kafka_config: str | None
    """A file with properties of a Kafka client."""
    storage_options: Mapping[str, str]
    """Of the bucket; they win over the environment and AWS profiles."""
    sinks: Sequence[str]
    """Of a plain stream: tables and directories, as `--sink` of the command."""
    event_log: str | None
    """Of a plain stream: where Spark's event logs are."""
    among: str | None
    """Of a plain stream: where checkpoints are that may read its output."""


def plan_resume(stream: str, **where: Unpack[Where]) -> Plan | NoPlan:
    """Plan what lets a stream go on where it stands, as `holdfast plan resume` does.

    Args:
        stream: Its name, or the location of its checkpoint.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="resume"), stream, where)


def plan_replay(
    stream: str,
    *,
    batches: int = 1,
    output: str = "restore",
    cascade: bool = False,
    **where: Unpack[Where],
) -> Plan | NoPlan:
    """Plan to run the last batches again, with their exact range.

    Args:
        stream: Its name, or the location of its checkpoint.
        batches: How many; several are run as one.
        output: Whether the sinks are put back to before them: `restore` or `keep`.
        cascade: Whether the streams that read its output are reset.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    request = Request(goal="replay", batches=batches, output=output, cascade=cascade)
    return _plan(request, stream, where)


def plan_reset(
    stream: str,
    *,
    start: str,
    output: str,
    outputs: Mapping[str, str] | None = None,
    cascade: bool = False,
    **where: Unpack[Where],
) -> Plan | NoPlan:
    """Plan a new generation of a stream, from a named position.

    Args:
        stream: Its name, or the location of its checkpoint.
        start: `earliest`, `here`, or Kafka offsets as JSON.
        output: What becomes of the rows that the sinks hold, as `--output` of the command.
        outputs: The same for one sink, by `STREAM/SINK`.
        cascade: Whether the streams that read its output are reset.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    named = dict(outputs or {})
    request = Request(goal="reset", start=start, output=output, outputs=named, cascade=cascade)
    return _plan(request, stream, where)


def plan_rewind(
    stream: str,
    *,
    to_batch: int,
    output: str = "restore",
    cascade: bool = False,
    **where: Unpack[Where],
) -> Plan | NoPlan:
    """Plan to go back to an earlier batch.

    Args:
        stream: Its name, or the location of its checkpoint.
        to_batch: The last batch that stays.
        output: Whether the sinks are put back to that batch: `restore` or `keep`.
        cascade: Whether the streams that read its output are reset.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    request = Request(goal="rewind", batch=to_batch, output=output, cascade=cascade)
    return _plan(request, stream, where)


def plan_snapshot(stream: str, *, name: str, **where: Unpack[Where]) -> Plan | NoPlan:
    """Plan a copy of a checkpoint under a name.

    Args:
        stream: Its name, or the location of its checkpoint.
        name: Of the snapshot.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="snapshot", target=name), stream, where)


def plan_restore(
    stream: str, *, snapshot: str, cascade: bool = False, **where: Unpack[Where]
) -> Plan | NoPlan:
    """Plan to go back to a snapshot.

    Args:
        stream: Its name, or the location of its checkpoint.
        snapshot: Its name.
        cascade: Whether the streams that read its output are reset.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="restore", target=snapshot, cascade=cascade), stream, where)


def plan_move(stream: str, *, to: str, **where: Unpack[Where]) -> Plan | NoPlan:
    """Plan to move a stream, with its record, to another root.

    Args:
        stream: Its name, or the location of its checkpoint.
        to: The new root.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="move", target=to), stream, where)


def plan_clone(stream: str, *, name: str, **where: Unpack[Where]) -> Plan | NoPlan:
    """Plan a copy of a stream's checkpoint under a new name and identity.

    Args:
        stream: Its name, or the location of its checkpoint.
        name: Of the new stream.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="clone", target=name), stream, where)


def plan_migrate(stream: str, *, mapping: str, **where: Unpack[Where]) -> Plan | NoPlan:
    """Plan to go on in another Kafka cluster.

    Args:
        stream: Its name, or the location of its checkpoint.
        mapping: Pairs of offsets, one JSON object per line, as `--mapping` of the command.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="migrate", target=mapping), stream, where)


def plan_prune(stream: str, *, older_than_days: int, **where: Unpack[Where]) -> Plan | NoPlan:
    """Plan to delete the checkpoints of generations that were left long ago.

    Args:
        stream: Its name, or the location of its checkpoint.
        older_than_days: How long ago a generation must have been left.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        ConfigError: So many days ago there was no Spark.
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="prune", days=older_than_days), stream, where)


def plan_retire(stream: str, **where: Unpack[Where]) -> Plan | NoPlan:
    """Plan to end a stream for good: fence its sinks, archive its checkpoint, then delete it.

    Args:
        stream: Its name, or the location of its checkpoint.
        where: Where it is, and what else to look at; see `Where`.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    return _plan(Request(goal="retire"), stream, where)


def plan_backfill(
    pipeline: Pipeline, spark: SparkSession, stream: str, **wanted: Unpack[Range]
) -> Plan | NoPlan:
    """Plan to write a range of a stream's sources into its sinks, while the stream goes on.

    Args:
        pipeline: That declares the stream.
        spark: The session.
        stream: Its name.
        wanted: `start`: `earliest`, Kafka offsets, or a version of a Delta table; `end`: where the
            range ends, which is not part of it; `chunk`: how much of each source a chunk has at
            most.

    Raises:
        BackfillRefusedError: The stream, its sinks or the range cannot be backfilled.
        HoldfastError: The range is not one, or something cannot be read.
    """
    looks = DiagnoseRequest(location=stream, root=pipeline.root)
    return make_plan(range_request(wanted), looks, Code(spark=spark, pipeline=pipeline))


def _plan(request: Request, stream: str, where: Where) -> Plan | NoPlan:
    refuse_unknown(where, Where.__annotations__)
    GOALS[request.goal].check_numbers(request)
    looks = DiagnoseRequest(
        location=stream,
        root=where.get("root"),
        options=where.get("storage_options", {}),
        sources=where.get("sources", {}),
        kafka_config=where.get("kafka_config"),
        sinks=tuple(where.get("sinks", ())),
        event_log=where.get("event_log"),
        among=where.get("among"),
        probe=True,
    )
    return make_plan(request, looks)


def __getattr__(name: str) -> Callable[..., Plan | NoPlan]:
    """Return the function `plan_GOAL` of a goal that has none here, with its options as keywords.

    Raises:
        AttributeError: There is no such goal.
    """
    goal = name.removeprefix("plan_")
    found = GOALS.get(goal)
    if found is None or goal == name:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    fields = {each.keyword or each.field: each for each in found.options}

    def plan(stream: str, **given: Any) -> Plan | NoPlan:
        values: dict[str, Any] = {
            option.field: option.default or option.empty for option in fields.values()
        }
        values |= {fields[name].field: given.pop(name) for name in [*given] if name in fields}
        return _plan(Request(goal=goal, **values), stream, cast("Where", given))

    plan.__name__, plan.__doc__ = f"plan_{goal}", found.help
    return plan
