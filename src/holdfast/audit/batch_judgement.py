"""Whether a function of foreachBatch recognises a batch that it has written before.

By the same facts as the rules of lint: its writes, what it does with the batch id, and statements
that recognise rows. The worst of its writes decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.audit.sink_formats import IN_BATCH, TAKES_TRANSACTION_ID, USE_BATCH_IDENTITY
from holdfast.audit.sink_judgement import KnownBy, SinkJudgement, worst_of
from holdfast.audit.transaction_ids import judge_transaction_id
from holdfast.grades import Effect, Recognises
from holdfast.lint.batch_functions import BatchFunction, Write
from holdfast.lint.batch_ids import LOGS, BatchIdUse
from holdfast.lint.callables import find_callee
from holdfast.lint.identity import Identity, identity_of
from holdfast.lint.row_writers import find_row_writes
from holdfast.lint.sql import EXECUTES
from holdfast.lint.volatile import name_of

_KEYED = (
    "Rows are found again by a MERGE, a conflict clause, a delete or an anti join, if their key is "
    "unique and the same in every attempt."
)
_READ_IT = "Read what it does, or write with hf.start."


def judge_batch_function(batch: BatchFunction) -> SinkJudgement:
    """Judge a function by its writes; what cannot be followed is not known."""
    at = (batch.function.lineno, batch.function.col_offset + 1)
    if batch.only_shows:
        return SinkJudgement(
            recognises=Recognises.NOT_KEPT, why="The function only prints rows.", at=at
        )
    identity = identity_of(batch.callees)
    own = [each for each in batch.writes if not each.is_log] or [*batch.writes]
    found = [_judge_write(each, batch, identity) for each in own]
    found += _judge_rows(batch, identity)
    if not found and identity.covers(None):
        found.append(_by_key(at))
    found += _judge_unfollowed(batch)
    return worst_of(found) or SinkJudgement(
        recognises=Recognises.NOT_KNOWN,
        why="Nothing in the function is understood as a write.",
        at=at,
        change=_READ_IT,
    )


def _judge_write(write: Write, batch: BatchFunction, identity: Identity) -> SinkJudgement:
    match write.mode:
        case "upsert":
            return _by_key(write.at)
        case "overwrite":
            return _judge_overwrite(write, batch, identity)
        case "append":
            return _judge_append(write, batch, identity)
        case "error" | "errorifexists" | "ignore":
            return _judge_first_only(write)
        case _:
            return _not_known("The code computes the mode of this write.", write.at)


def _judge_overwrite(write: Write, batch: BatchFunction, identity: Identity) -> SinkJudgement:
    if "replacewhere" in write.options or "partitionoverwritemode" in write.options:
        why = "The write replaces what replaceWhere or its partitions name, if no batch shares it."
        return SinkJudgement(
            recognises=Recognises.DEPENDS, why=why, at=write.at, known_by=KnownBy.NUMBER
        )
    if _names_batch_id(write, batch):
        why = "The target is named by the batch id, and a repeated batch replaces it."
        return SinkJudgement(
            recognises=Recognises.YES, why=why, at=write.at, known_by=KnownBy.NUMBER
        )
    if identity.covers(None) and batch.query.output_mode != "complete":
        return _by_key(write.at)  # a staging table
    why = "Every batch replaces the whole target, and so does a repeated one."
    return SinkJudgement(recognises=Recognises.YES, why=why, at=write.at, known_by=KnownBy.KEY)


def _judge_append(write: Write, batch: BatchFunction, identity: Identity) -> SinkJudgement:
    if (by_number := judge_transaction_id(write, batch)) is not None:
        return by_number
    if identity.covers(write.table):
        return _by_key(write.at)
    if batch.batch_id_use is BatchIdUse.RECOGNISES:
        why = "The function uses the batch id, if it does so in the transaction of this write."
        return SinkJudgement(
            recognises=Recognises.DEPENDS, why=why, at=write.at, known_by=KnownBy.NUMBER
        )
    return _by_format(write)


def _by_format(write: Write) -> SinkJudgement:
    if write.format is None:
        return _not_known("The code computes the format of this write.", write.at)
    known = IN_BATCH.get(write.format)
    if known is None:
        return _not_known(f"What the format {write.format} does is not known.", write.at)
    if "" in write.options and write.format in TAKES_TRANSACTION_ID:
        return _not_known("Options of this write cannot be followed.", write.at)
    return SinkJudgement(
        recognises=known.recognises,
        why=known.why,
        at=write.at,
        known_by=known.known_by,
        change=known.change,
    )


def _judge_first_only(write: Write) -> SinkJudgement:
    is_skipped = write.mode == "ignore"
    does = "is skipped" if is_skipped else "fails"
    return SinkJudgement(
        recognises=Recognises.NO,
        why=f"The write's mode is {write.mode}: if the target exists, it {does}.",
        at=write.at,
        effect=Effect.LOSES if is_skipped else Effect.FAILS,
        change=USE_BATCH_IDENTITY,
    )


def _judge_rows(batch: BatchFunction, identity: Identity) -> Iterator[SinkJudgement]:
    """Judge calls that insert or send rows; statements are among the writes already."""
    for call in find_row_writes(batch.callees):
        if name_of(call.func) in EXECUTES:
            continue
        at = (call.lineno, call.col_offset + 1)
        if identity.is_general or batch.batch_id_use is BatchIdUse.RECOGNISES:
            yield _by_key(at)
        else:
            why = f"{ast.unparse(call.func)} inserts or sends the rows a second time."
            yield SinkJudgement(recognises=Recognises.NO, why=why, at=at, change=USE_BATCH_IDENTITY)


def _judge_unfollowed(batch: BatchFunction) -> Iterator[SinkJudgement]:
    """Judge calls that get the batch, return nothing that is used, and are not in the file."""
    for owner in batch.callees:
        for node in owner.values.syntax.nodes_in(owner.function):
            match node:
                case ast.Expr(value=ast.Call(func=func, args=[ast.Name(id=name), *_]) as call):
                    is_ours = name == batch.batch and name_of(func) not in LOGS
                    if is_ours and find_callee(func, owner.values) is None:
                        called = ast.unparse(func)
                        why = f"What {called} does with the batch is not in this file."
                        yield _not_known(why, (call.lineno, call.col_offset + 1))
                case _:
                    pass


def _names_batch_id(write: Write, batch: BatchFunction) -> bool:
    """Return whether the target of a write has the batch id in it."""
    names = {each.id for each in ast.walk(write.call) if isinstance(each, ast.Name)}
    return any(each in names for owner in batch.callees for each in owner.parameters[1:2])


def _by_key(at: tuple[int, int]) -> SinkJudgement:
    return SinkJudgement(recognises=Recognises.DEPENDS, why=_KEYED, at=at, known_by=KnownBy.KEY)


def _not_known(why: str, at: tuple[int, int]) -> SinkJudgement:
    return SinkJudgement(recognises=Recognises.NOT_KNOWN, why=why, at=at, change=_READ_IT)
