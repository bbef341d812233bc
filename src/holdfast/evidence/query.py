"""What is known of the query that will be started, beside its checkpoint.

A checkpoint does not hold the query. Where somebody knows it, because a guarded start recorded it,
Spark's own comparisons can be made before it is started: from Spark 4.2 `OffsetSeq.scala`
(toStreamProgress: number of sources) and `IncrementalExecution.scala`
(checkOperatorValidWithMetadata: operators by name).
"""

from __future__ import annotations

import msgspec

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.evidence.outcomes import Refuses
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.evidence.state import missing_file_error
from holdfast.ids import BatchId
from holdfast.spark_versions import Behaviour

NO_STATE_DIRECTORY = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a query."""

    sources: int
    operators: tuple[str, ...]
    """Names of the operators with state, in the order of their ids; empty when it has none."""


def judge_query(
    checkpoint: Checkpoint, query: Query, *, batch_id: BatchId, does: Behaviour
) -> Refuses | None:
    """Say whether Spark refuses this query on this checkpoint.

    Args:
        checkpoint: As read.
        query: What is known of the query.
        batch_id: The batch that is run.
        does: What the version that will be started does.
    """
    newest = checkpoint.offsets[max(checkpoint.offsets)]
    if isinstance(newest, OffsetEntry) and newest.version == 1:
        there = len(newest.offsets)
        if there != query.sources:
            listed = "1 source" if there == 1 else f"{there} sources"
            return Refuses(
                code=RefusalCode.QUERY_CHANGED,
                error=f"There are [{there}] sources in the checkpoint offsets and now there are "
                f"[{query.sources}] sources",
                because=f"offsets/{newest.batch_id} lists {listed}, but the query has "
                f"{query.sources}",
                follows_from=(f"offsets/{newest.batch_id}",),
            )
    return _missing_state(checkpoint, query, batch_id, does=does) or _judge_operators(
        checkpoint, query, does
    )


def _has_run(checkpoint: Checkpoint) -> bool:
    return bool(checkpoint.commits) or max(checkpoint.offsets) > 0


def _missing_state(
    checkpoint: Checkpoint, query: Query, batch_id: BatchId, *, does: Behaviour
) -> Refuses | None:
    if not query.operators or checkpoint.state or not _has_run(checkpoint):
        return None
    is_first = does.needs_state_directory
    return Refuses(
        code=RefusalCode.QUERY_CHANGED,
        error=NO_STATE_DIRECTORY if is_first else missing_file_error(checkpoint, does),
        because=f"the query is stateful ({', '.join(query.operators)}), but state/ is empty",
        follows_from=("state",),
        in_batch=None if is_first else batch_id,
    )


def _judge_operators(checkpoint: Checkpoint, query: Query, does: Behaviour) -> Refuses | None:
    newest = [operator.metadata[-1] if operator.metadata else None for operator in checkpoint.state]
    known = [metadata for metadata in newest if isinstance(metadata, OperatorMetadata)]
    named = {metadata.operator_id: metadata.name for metadata in known}
    # When Spark cannot read the metadata of one operator, it compares none.
    is_compared = does.compares_operators and bool(known) and len(known) == len(newest)
    if not is_compared or named == dict(enumerate(query.operators)):
        return None
    return Refuses(
        code=RefusalCode.QUERY_CHANGED,
        error="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
        because=(
            f"state/ belongs to {', '.join(map(str, named.values()))}, "
            f"but the query has {', '.join(query.operators) or 'no stateful operator'}"
        ),
        follows_from=tuple(metadata.path for metadata in known),
    )
