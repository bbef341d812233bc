"""What `into=` would be for a query of a program: the sink of Holdfast that takes its rows.

Only what the code says is taken. A function of `foreachBatch` becomes a sink if all it does is to
append its batch to one table; every other one stays a function, in `hf.ForeachBatch`.
"""

from __future__ import annotations

import ast
import json
import re

import msgspec
from msgspec.structs import replace

from holdfast.adoption.plain_append import NotPlain, find_plain_append
from holdfast.adoption.query_text import QueryText
from holdfast.audit.sinks_in_code import judge_sink
from holdfast.lint.batch_functions import BatchFunction, Write
from holdfast.lint.queries import FILE_FORMATS, SHOWN_ONLY
from holdfast.lint.texts import Text

_URL_OF_POSTGRES = "jdbc:postgresql:"
_DATABASE = re.compile(
    r"jdbc:postgresql://(?P<host>[\w.-]+)(:(?P<port>[0-9]+))?/(?P<name>[\w-]+)(\?.*)?", re.DOTALL
)
_TABLES = ("saveAsTable", "insertInto", "writeTo")
_OWN_FUNCTION = (
    "Write to a Delta or PostgreSQL table instead, or write in a function of your own: "
    "into=hf.ForeachBatch(function) guards it, and calls it at least once for each batch."
)


class IntoSink(msgspec.Struct, frozen=True, kw_only=True):
    """A sink of Holdfast, as the call writes it."""

    kind: str
    """`delta`, `postgres` or `foreach-batch`."""
    arguments: str
    """`path="/lake/orders"`."""
    at: tuple[int, int] | None = None
    """Where the program names it; None if it does not."""
    place: str | None = None
    """Its location, or the name of its table; None if the code computes it."""
    is_named: bool = False
    """Whether the place is the name of a table in a catalog."""
    is_assumed: bool = False
    """Whether the code does not say that the table is one of Delta."""
    named_by: str = "--sink"
    """What names it, if the program does not."""
    notes: tuple[str, ...] = ()
    dsn: str | None = None
    """The name of the secret of a PostgreSQL table."""

    def written(self, module: str) -> str:
        """Return `hf.Delta(path="/lake/orders")`.

        Args:
            module: The name by which the program calls holdfast.
        """
        name = {"delta": "Delta", "postgres": "Postgres"}.get(self.kind, "ForeachBatch")
        return f"{module}.{name}({self.arguments})"


class NoSink(msgspec.Struct, frozen=True, kw_only=True):
    """Why no sink of Holdfast takes the rows of a query."""

    why: str
    how: str
    is_certain: bool = True
    """False if the sink is not known."""


def literal(text: str) -> str:
    """Return a text as a program writes it."""
    return json.dumps(text, ensure_ascii=False)


def delta_at(place: str, *, at: tuple[int, int] | None = None) -> IntoSink:
    """Return a Delta table by its location."""
    return IntoSink(kind="delta", arguments=f"path={literal(place)}", at=at, place=place)


class NamedTable(msgspec.Struct, frozen=True):
    """A table of PostgreSQL, as `--sink env:NAME#TABLE` names it."""

    secret: str
    """The name of the secret that is its DSN."""
    table: str


def postgres_table(
    table: str, secret: str | None = None, *, at: tuple[int, int] | None = None
) -> IntoSink:
    """Return a table of PostgreSQL; if its secret has no name yet, one is made of the table's."""
    named = "".join(each if each.isalnum() else "_" for each in table.rpartition(".")[2]).upper()
    secret = secret or f"env:{named}_DSN"
    return IntoSink(
        kind="postgres",
        arguments=f"{literal(secret)}, table={literal(table)}",
        at=at,
        place=table,
        dsn=secret,
    )


def find_into(found: QueryText, *, named: NamedTable | None) -> IntoSink | NoSink:
    """Return the sink that takes the rows of a query, or why there is none.

    Args:
        found: The query.
        named: The PostgreSQL table that somebody says it writes to.
    """
    if found.query.step("foreachBatch"):
        return _of_function(found, named=named)
    if found.query.step("foreach"):
        why = "foreach writes row by row, and Holdfast guards whole batches"
        return NoSink(why=why, how=f"Use foreachBatch. {_OWN_FUNCTION}")
    return _of_format(found)


def _of_format(found: QueryText) -> IntoSink | NoSink:
    query = found.query
    kind = query.format
    if kind in SHOWN_ONLY:
        how = "Nothing: there are no rows to lose or to duplicate."
        return NoSink(why=f"the {kind} sink keeps no rows", how=how)
    is_delta = kind == "delta"
    if not is_delta and (kind not in (None, "table") or (kind is None and query.step("format"))):
        if kind is None:
            how = "Name the sink with --sink LOCATION."
            return NoSink(why="the code computes the format of its sink", how=how, is_certain=False)
        files = " files" if kind in FILE_FORMATS else ""
        return NoSink(why=f"Holdfast has no sink for {kind}{files}", how=_OWN_FUNCTION)
    end = query.steps[-1]
    node = end.argument(0, "path", "tableName")
    option = query.options.get("path")
    if node is None and option is not None and option.source is not None:
        node = option.source[0]
    if node is None or query.target is None:
        how = "Name the sink with --sink LOCATION."
        return NoSink(why="the code does not name its table", how=how, is_certain=False)
    is_named = end.name != "start"
    return IntoSink(
        kind="delta",
        arguments=f"{'table' if is_named else 'path'}={found.of(node)}",
        at=end.at if option is None else option.at,
        place=query.target.known,
        is_named=is_named,
        is_assumed=not is_delta,
    )


def _of_function(found: QueryText, *, named: NamedTable | None) -> IntoSink | NoSink:
    program, query = found.program, found.query
    step = query.step("foreachBatch")
    assert step is not None
    given = step.argument(0, "func")
    if given is None:
        how = "Write the call by hand: into=hf.ForeachBatch(function)."
        return NoSink(why="foreachBatch has no function", how=how, is_certain=False)
    called = ast.unparse(given)
    into = _of_batch_function(program.batch_function_of(query), named)
    if isinstance(into, IntoSink):
        unused = f"{called} is not called any more: Holdfast writes the batch."
        return replace(into, notes=(unused, *into.notes))
    judged = judge_sink(program, query)
    return IntoSink(
        kind="foreach-batch",
        arguments=found.of(given),
        at=step.at,
        notes=(
            f"{called} stays a function: {into.why}. It is called at least once for each batch: "
            f"exactly-once is not claimed for it. {judged.why}",
            "For exactly-once, compute the rows before hf.start and name the tables: "
            "into=[hf.Delta(path=…), hf.Postgres(…, table=…)].",
        ),
    )


def _of_batch_function(
    batch: BatchFunction | None, named: NamedTable | None
) -> IntoSink | NotPlain:
    if batch is None:
        return NotPlain("it is not in this file")
    found = find_plain_append(batch)
    return found if isinstance(found, NotPlain) else _of_write(found, named)


def _of_write(write: Write, named: NamedTable | None) -> IntoSink | NotPlain:
    """Return the sink that does the same as one append."""
    if write.format == "jdbc":
        return _of_jdbc(write, named)
    if write.format not in ("delta", "table"):
        return NotPlain(f"it writes {write.format or 'a format that the code computes'}")
    end = next((each for each in write.steps if each.name == "writeTo"), write.steps[-1])
    given = end.text(0, "path", "name", "tableName", "table")
    option = write.options.get("path")
    place = given if given is not None else option.value if option else None
    if place is None or place.known is None:
        return NotPlain("the code computes where it writes to")
    is_named = end.name in _TABLES
    marked = "txnappid" in write.options
    notes = ("txnAppId and txnVersion are not needed: the ledger does their work.",)
    return IntoSink(
        kind="delta",
        arguments=f"{'table' if is_named else 'path'}={literal(place.known)}",
        at=write.at,
        place=place.known,
        is_named=is_named,
        is_assumed=write.format != "delta",
        notes=notes if marked else (),
    )


def _of_jdbc(write: Write, named: NamedTable | None) -> IntoSink | NotPlain:
    end = write.steps[-1]
    is_short = end.name == "jdbc"
    url = end.text(0, "url") if is_short else _value(write, "url")
    table = end.text(1, "table") if is_short else _value(write, "dbtable")
    is_postgres = url is not None and url.start.startswith(_URL_OF_POSTGRES)
    if not is_postgres and named is None:
        why = "the code does not say that it writes to PostgreSQL (--sink env:NAME#TABLE does)"
        return NotPlain(why)
    known = None if table is None else table.known
    if named is not None:
        return postgres_table(known or named.table, named.secret, at=write.at)
    if known is None:
        return NotPlain("the code computes the name of its table")
    found = postgres_table(known, at=write.at)
    variable = (found.dsn or "").removeprefix("env:")
    needed = f"Set the variable {variable} to the DSN of the database{_say_database(url)}."
    return replace(found, notes=(f"{needed} hf.Postgres takes no JDBC URL.",))


def _say_database(url: Text | None) -> str:
    """Return `, such as "host=db dbname=shop user=…"`; nothing of it is secret."""
    found = _DATABASE.fullmatch(url.start) if url is not None else None
    if found is None:
        return ""
    port = f" port={found['port']}" if found["port"] else ""
    return f', such as "host={found["host"]}{port} dbname={found["name"]} user=…"'


def _value(write: Write, name: str) -> Text | None:
    option = write.options.get(name)
    return None if option is None else option.value
