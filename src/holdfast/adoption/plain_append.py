"""Functions of `foreachBatch` that do nothing but append their batch to one table."""

from __future__ import annotations

import ast

import msgspec

from holdfast.lint.batch_functions import BatchFunction, Write
from holdfast.lint.batch_ids import LOGS
from holdfast.lint.volatile import name_of


class NotPlain(msgspec.Struct, frozen=True):
    """Why a function does more than that, or something else."""

    why: str


def find_plain_append(batch: BatchFunction) -> Write | NotPlain:
    """Return the one write of a function that appends its batch as it is, or why there is none."""
    writes = batch.writes
    if len(writes) != 1:
        return NotPlain(f"it has {len(writes)} writes" if writes else "its write is not understood")
    (write,) = writes
    line = f"line {write.at[0]}"
    if write.mode != "append":
        return NotPlain(f"{line} writes with mode {write.mode or 'that the code computes'}")
    is_batch = isinstance(write.root, ast.Name) and write.root.id == batch.batch
    if not is_batch or write.steps[0].name not in ("write", "writeTo"):
        return NotPlain(f"{line} writes something else than the batch as it is")
    if "" in write.options:
        return NotPlain(f"{line} has options that cannot be followed")
    other = _other_statement(batch, write)
    return write if other is None else NotPlain(f"line {other.lineno} does more than to write")


def _other_statement(batch: BatchFunction, write: Write) -> ast.stmt | ast.expr | None:
    """Return the first statement that is neither the write nor a log line."""
    function = batch.function
    if isinstance(function, ast.Lambda):
        return None if function.body is write.call else function.body
    return next((each for each in function.body if not _is_plain(each, write)), None)


def _is_plain(statement: ast.stmt, write: Write) -> bool:
    match statement:
        case ast.Pass() | ast.Return(value=None) | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call() as call):
            return call is write.call or name_of(call.func) in LOGS
        case _:
            return False
