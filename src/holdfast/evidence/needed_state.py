"""Whether the state that the next batch needs can be loaded.

From Spark 4.2 `state/HDFSBackedStateStoreProvider.scala`, `RocksDB.scala`: state is loaded in the
tasks of the batch, when it is already planned and its sink called. A whole file that cannot be read
is passed over for an older one and the changes since; a file of changes that is missing ends the
batch. In state format 2 the newest commit says which file is version N: it must be that of batch
N - 1.
"""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import COMMITS, STATE
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.checkpoint.state.read import Operator
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import LocationError
from holdfast.evidence.outcomes import Refuses, Unknown, UnknownCause
from holdfast.evidence.query import NO_STATE_DIRECTORY, Query
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.evidence.state import (
    NOT_LOOKED,
    Looked,
    OperatorState,
    judge_state,
    missing_file_error,
)
from holdfast.ids import BatchId
from holdfast.spark_versions import Behaviour
from holdfast.storage.location import is_same_store, parse_location

_BY_PATH = "transformWithState"
"""Operators that find their schemas by the absolute paths in their metadata."""


def judge_needed_state(
    checkpoint: Checkpoint,
    batch_id: BatchId,
    *,
    does: Behaviour,
    query: Query | None = None,
    looked: Looked = NOT_LOOKED,
) -> Refuses | Unknown | None:
    """Say whether a batch fails because its state cannot be loaded.

    Args:
        checkpoint: As read.
        batch_id: The batch that is run.
        does: What the version that will be started does.
        query: What is known of the query; operators that it does not have, Spark does not look at.
        looked: What looking into state files has shown.
    """
    if query is not None:
        if not query.operators:
            return None
        known = len(query.operators)
        state = tuple(each for each in checkpoint.state if each.operator_id < known)
        checkpoint = replace(checkpoint, state=state)
    stopped = _judge_descriptions(checkpoint, None if does.checks_schema_first else batch_id)
    if stopped is not None or batch_id == 0:
        return stopped
    stopped = (
        _judge_directories(checkpoint, batch_id, does)
        or _missing_operator(checkpoint, query, batch_id, does=does)
        or _judge_unread(checkpoint, batch_id)
    )
    if stopped is not None:
        return stopped
    for operator in judge_state(checkpoint, batch_id, does=does, looked=looked):
        stopped = _judge_ids(checkpoint, operator) or _judge_files(checkpoint, operator, does)
        if stopped is not None:
            return stopped
    return None


def _judge_descriptions(
    checkpoint: Checkpoint, in_batch: BatchId | None
) -> Refuses | Unknown | None:
    """Judge schemas and checksums that lie about; metadata that is damaged Spark passes over."""
    for operator in checkpoint.state:
        for schema in operator.schemas:
            if isinstance(schema, Unparsed):
                because = f"{schema.path}: {schema.reason}"
                if schema.unread:
                    return Unknown(
                        cause=UnknownCause.UNREAD, because=because, follows_from=(schema.path,)
                    )
                return Refuses(
                    code=RefusalCode.STATE_SCHEMA_UNREADABLE,
                    error="STREAM_FAILED",
                    because=because,
                    follows_from=(schema.path,),
                    in_batch=in_batch,
                )
        moved = _moved_schema(checkpoint, operator)
        if moved is not None:
            home = moved.partition(f"/{STATE}/")[0]
            because = f"the checkpoint was moved or copied: its state was written at {home}"
            return Refuses(
                code=RefusalCode.STATE_SCHEMA_ELSEWHERE,
                error="does not exist",
                because=because,
                follows_from=(moved,),
            )
        for path in operator.lone_sidecars:
            because = f"{path} blocks its file, which is missing and which Spark writes again"
            return Refuses(
                code=RefusalCode.STATE_BLOCKED_BY_CHECKSUM,
                error="already exists",
                because=because,
                follows_from=(path,),
                in_batch=in_batch,
            )
    return None


def _moved_schema(checkpoint: Checkpoint, operator: Operator) -> str | None:
    """Return a schema that transformWithState would look for where the checkpoint is not."""
    newest = operator.metadata[-1] if operator.metadata else None
    if not isinstance(newest, OperatorMetadata) or not newest.name.startswith(_BY_PATH):
        return None
    here = checkpoint.location
    for path in (path for store in newest.stores for path in store.schema_paths):
        try:
            there = parse_location(path)
        except LocationError:
            continue
        if is_same_store(there, here) and not there.path.startswith(f"{here.path}/"):
            return path
    return None


def _judge_directories(
    checkpoint: Checkpoint, batch_id: BatchId, does: Behaviour
) -> Refuses | None:
    newest = checkpoint.commits[max(checkpoint.commits)] if checkpoint.commits else None
    has_ids = isinstance(newest, CommitEntry) and bool(newest.state_ids)
    strays = [path for path in checkpoint.foreign if path.startswith(f"{STATE}/")]
    if not checkpoint.state and strays:
        # Spark only looks whether anything is there.
        because = f"{STATE}/ holds no state files, only {strays[0]}"
        return Refuses(
            code=RefusalCode.STATE_MISSING,
            error=missing_file_error(checkpoint, does),
            because=because,
            follows_from=tuple(strays),
            in_batch=batch_id,
        )
    if not checkpoint.state and (STATE in checkpoint.directories or has_ids):
        is_first = does.needs_state_directory
        return Refuses(
            code=RefusalCode.STATE_MISSING,
            error=NO_STATE_DIRECTORY if is_first else missing_file_error(checkpoint, does),
            because="state/ is empty, but the query is stateful",
            follows_from=(STATE,),
            in_batch=None if is_first else batch_id,
        )
    numbers = [operator.operator_id for operator in checkpoint.state]
    missing = next((place for place, number in enumerate(numbers) if place != number), None)
    if missing is not None:
        path = f"{STATE}/{missing}"
        is_first = does.compares_operators
        return Refuses(
            code=RefusalCode.STATE_OPERATOR_MISSING,
            error="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
            if is_first
            else missing_file_error(checkpoint, does),
            because=f"{path} is missing, but a later operator has its directory",
            follows_from=(path,),
            in_batch=None if is_first else batch_id,
        )
    return None


def _judge_unread(checkpoint: Checkpoint, batch_id: BatchId) -> Unknown | None:
    if not checkpoint.state or checkpoint.state_unread is None:
        return None
    because = f"{STATE}/ was not checked, and batch {batch_id} needs it: "
    return Unknown(
        cause=UnknownCause.STATE_UNCHECKED,
        because=because + checkpoint.state_unread,
        follows_from=(STATE,),
    )


def _missing_operator(
    checkpoint: Checkpoint, query: Query | None, batch_id: BatchId, *, does: Behaviour
) -> Refuses | None:
    """Judge operators of the query that have no state; Spark compares names only if it has some."""
    if query is None:
        return None
    there = {operator.operator_id for operator in checkpoint.state}
    missing = [number for number in range(len(query.operators)) if number not in there]
    if not missing or not there:
        return None
    path = f"{STATE}/{missing[0]}"
    because = f"{path} is missing, and the query's {query.operators[missing[0]]} needs it"
    return Refuses(
        code=RefusalCode.STATE_OPERATOR_MISSING,
        error=missing_file_error(checkpoint, does),
        because=because,
        follows_from=(path,),
        in_batch=batch_id,
    )


def _judge_ids(checkpoint: Checkpoint, found: OperatorState) -> Refuses | None:
    files = [file for each in found.stores for file in each.store.files]
    if not any(file.unique_id for file in files):
        return None
    batch_id = BatchId(found.version)
    newest = max(checkpoint.commits, default=None)
    commit = None if newest is None else checkpoint.commits[newest]
    ids = commit.state_ids if isinstance(commit, CommitEntry) else None
    if not ids or str(found.operator.operator_id) not in ids:
        path = COMMITS if newest is None else f"{COMMITS}/{newest}"
        because = f"{path} does not name the state files that count (stateUniqueIds)"
        return Refuses(
            code=RefusalCode.STATE_FILES_NOT_NAMED,
            error="CANNOT_LOAD_STATE_STORE",
            because=because,
            follows_from=(path,),
            in_batch=batch_id,
        )
    if newest is not None and newest + 1 != batch_id:
        because = f"batch {batch_id} needs the state files that {COMMITS}/{batch_id - 1} names"
        return Refuses(
            code=RefusalCode.STATE_OF_ANOTHER_BATCH,
            error="CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
            because=f"{because}, but the newest commit entry is {newest}",
            follows_from=(f"{COMMITS}/{newest}",),
            in_batch=batch_id,
        )
    return None


def _judge_files(
    checkpoint: Checkpoint, found: OperatorState, does: Behaviour
) -> Refuses | Unknown | None:
    batch_id = BatchId(found.version)
    if found.unread:
        because = f"{found.unread[0]}, which batch {batch_id} needs, could not be read"
        return Unknown(cause=UnknownCause.UNREAD, because=because, follows_from=found.unread)
    broken = found.damaged
    if broken:
        return Refuses(
            code=RefusalCode.STATE_FILE_DAMAGED,
            error=does.state_damaged,
            because=f"{broken[0]} is damaged, and batch {batch_id} needs it",
            follows_from=broken,
            in_batch=batch_id,
        )
    missing = found.missing
    if not missing:
        return None
    is_damaged = missing[-1] in found.passed_over
    named = f"{missing[-1]} is damaged" if is_damaged else f"{missing[0]} is missing"
    return Refuses(
        code=RefusalCode.STATE_FILE_DAMAGED if is_damaged else RefusalCode.STATE_FILE_MISSING,
        error=does.state_damaged
        if found.passed_over
        else missing_file_error(checkpoint, does, operator=found.operator),
        because=f"{named}, and batch {batch_id} needs it",
        follows_from=missing,
        in_batch=batch_id,
    )
