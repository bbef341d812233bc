"""What a query reads, from the plan that the client itself has built: format, options, columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from holdfast.redact import redact
from holdfast.spark.connect.untyped import Untyped, untyped
from holdfast.spark.errors import unplanned
from holdfast.spark.source_options import keep_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TOPICS = ("subscribe", "subscribepattern", "assign")


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """One source, as the program has named it."""

    options: dict[str, str]
    """Those that are safe to keep, its format, and what identifies its columns."""
    topics: tuple[str, ...]
    paths: tuple[str, ...]
    """The locations that it reads; of topics there are none."""
    table: str
    """The name of a table in a catalog, whose location the client does not know; else empty."""


def find_reads(df: DataFrame) -> tuple[Read, ...] | None:
    """Return the sources of a streaming DataFrame in the order of its plan.

    None when the client does not know them: a view or a text of SQL names them on the server.
    """
    client = untyped(df).sparkSession.client
    try:
        return tuple(_read(each, client) for each in streaming_relations(df))
    except unplanned():
        return None


def streaming_relations(df: DataFrame) -> list[Untyped]:
    """Return the reads of streams in the plan that the client has built, in its order."""
    frame = untyped(df)
    return list(_streaming(frame._plan.to_proto(frame.sparkSession.client).root))


def _streaming(relation: Untyped) -> Iterator[Untyped]:
    """Yield the relations that read a stream, in the order of the plan."""
    kind = relation.WhichOneof("rel_type")
    if not kind:
        return
    if str(kind) == "read" and relation.read.is_streaming:
        yield relation
    for field, value in getattr(relation, str(kind)).ListFields():
        if field.message_type and str(field.message_type.name) == "Relation":
            for each in value if hasattr(value, "append") else (value,):
                yield from _streaming(each)


def _read(relation: Untyped, client: Untyped) -> Read:
    from pyspark.sql.connect import proto

    source = relation.read.data_source
    given = {str(name): str(value) for name, value in source.options.items()}
    paths = tuple(str(each) for each in source.paths)
    if paths:
        given["path"] = ",".join(paths)
    named = {name.lower(): value for name, value in given.items()}
    columns = _columns(client.schema(proto.Plan(root=relation)))  # type: ignore[arg-type]
    form = {"format": redact(str(source.format)), "schema": columns}
    return Read(
        options={**keep_options(given.items()), **form},
        topics=tuple(redact(named[each]) for each in _TOPICS if each in named),
        paths=paths or tuple(named[each] for each in ("path",) if each in named),
        table=str(relation.read.named_table.unparsed_identifier),
    )


def _columns(schema: Untyped) -> str:
    """Return what identifies the columns of a source: as the JVM writes a schema, hashed."""
    text = json.dumps(schema.jsonValue(), separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:16]
