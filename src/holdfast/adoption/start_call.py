"""The call of `hf.start` that stands for a chain of `writeStream`, written from its own text.

What the chain says of table, checkpoint, trigger and output mode is taken over as it is written
there, so that names and f-strings stay. What cannot be taken over is said, with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from holdfast.adoption.into_sink import literal
from holdfast.adoption.query_text import QueryText
from holdfast.lint.chains import ChainLink
from holdfast.lint.queries import WRITER, Query

_TAKEN_OVER = frozenset({"checkpointlocation", "path"})
_OF_START = frozenset({"path", "tablename", "format", "outputmode", "partitionby", "queryname"})
"""Keywords of `start` and `toTable` that are no options."""
_INSTEAD = {
    "mergeschema": "set spark.databricks.delta.schema.autoMerge.enabled to true in the session",
    "txnappid": "the ledger does its work",
    "txnversion": "the ledger does its work",
}


class TooDynamic(msgspec.Struct, frozen=True):
    """Why a chain cannot be replaced without a person."""

    line: int
    why: str


class StartCall(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a call, in their order, as they are written."""

    df: str
    stream: str
    root: str
    into: str
    checkpoint: str
    trigger: str | None = None
    output_mode: str | None = None

    def written(self, module: str, indentation: str = "") -> str:
        """Return the call; its first line is not indented.

        Args:
            module: The name by which the program calls holdfast.
            indentation: Of the line that it begins in.
        """
        inner = f"{indentation}\t" if indentation.startswith("\t") else f"{indentation}    "
        given = (
            self.df,
            f"stream={self.stream}",
            f"root={self.root}",
            f"into={self.into}",
            f"checkpoint={self.checkpoint}",
            *(() if self.trigger is None else (f"trigger={self.trigger}",)),
            *(() if self.output_mode is None else (f"outputMode={self.output_mode}",)),
        )
        lines = (f"{inner}{each},\n" for each in given)
        return f"{module}.start(\n{''.join(lines)}{indentation})"


def find_obstacle(found: QueryText) -> TooDynamic | None:
    """Return what keeps a chain from being replaced; None if nothing does."""
    query = found.query
    starts = [each for each in found.program.queries if each.started is query.started]
    if len(starts) > 1:
        why = f"this line starts {len(starts)} queries, and each needs a stream's name of its own"
        return TooDynamic(query.started.end_lineno or query.started.lineno, why)
    inside = _links_of(query.started)
    for step in query.steps:
        if step.node not in inside:
            why = f".{step.name} is set here, and the query is started in line {query.at[0]}"
            return TooDynamic(step.at[0], why)
        if step.name not in WRITER and step.name != "writeStream":
            return TooDynamic(step.at[0], f"what .{step.name} does with the writer is not known")
    if query.is_open:
        step = next((each for each in query.steps if _has_unknown_options(each)), query.steps[-1])
        return TooDynamic(step.at[0], f"the code computes the options of .{step.name}")
    options = (each.source for each in query.options.values() if each.source is not None)
    outside = next((node for node, _ in options if not _is_below(node, query.started)), None)
    if outside is not None:
        return TooDynamic(outside.lineno, "an option of the chain is set here, in a dictionary")
    return None


def _links_of(node: ast.expr) -> set[ast.Attribute]:
    """Return the names of a chain that stand in one expression."""
    found: set[ast.Attribute] = set()
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute):
            found.add(node)
            node = node.value
        else:
            node = node.func
    return found


def _has_unknown_options(step: ChainLink) -> bool:
    call = step.call
    if call is None or step.name not in {"option", "options", "start", "toTable"}:
        return False
    if step.name == "option":
        key = step.text(0, "key")
        return key is None or key.known is None
    return any(each.arg is None for each in call.keywords) or (
        step.name == "options" and bool(call.args)
    )


def _is_below(node: ast.expr, above: ast.expr) -> bool:
    return any(each is node for each in ast.walk(above))


def frame_of(found: QueryText) -> str:
    """Return the text of the DataFrame that the chain begins with."""
    return found.of(found.query.steps[0].node.value)


def trigger_of(found: QueryText) -> str | None:
    """Return the trigger as a dictionary; None without one."""
    step = found.query.step("trigger")
    if step is None or step.call is None:
        return None
    pairs = (f"{literal(each.arg or '')}: {found.of(each.value)}" for each in step.call.keywords)
    return f"{{{', '.join(pairs)}}}"


def output_mode_of(found: QueryText) -> str | None:
    """Return the output mode; None if it is `append`, which is the default."""
    query = found.query
    step = query.step("outputMode")
    node = step.argument(0, "outputMode") if step else query.steps[-1].argument(2, "outputMode")
    return None if node is None or query.output_mode == "append" else found.of(node)


def checkpoint_of(found: QueryText) -> str | None:
    """Return the checkpoint location as the code writes it; None if it does not."""
    option = found.query.checkpoint
    return None if option is None or option.source is None else found.of(option.source[0])


def left_out(query: Query) -> Iterator[tuple[int, str]]:
    """Yield what the chain says and the call does not take, each with its line."""
    for step in query.steps:
        if step.name == "queryName":
            yield step.at[0], ".queryName: the query gets the stream's name."
        if step.name in {"partitionBy", "clusterBy"}:
            yield step.at[0], f".{step.name}: the table exists, and keeps its partitions."
    for name, option in query.options.items():
        if name in _TAKEN_OVER or name in _OF_START:
            continue
        instead = _INSTEAD.get(
            name, "hf.start takes no options of a sink; check that none needs it"
        )
        yield option.at[0], f"option {name}: {instead}."
