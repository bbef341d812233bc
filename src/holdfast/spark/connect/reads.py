"""What a query reads, from the plan that the client itself has built: format, options, columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.redact import redact
from holdfast.spark.errors import unplanned
from holdfast.spark.source_options import keep_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Proto = Any
"""A message of Spark Connect; protobuf has no types here."""


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """One source, as the program has named it."""

    format: str
    options: dict[str, str]
    """Those that are safe to keep, and what identifies its columns."""
    topics: tuple[str, ...]
    paths: tuple[str, ...]
    """The locations that it reads; of topics there are none."""
    table: str
    """The name of a table in a catalog, whose location the client does not know; else empty."""


def find_reads(df: DataFrame) -> tuple[Read, ...] | None:
    """Return the sources of a streaming DataFrame in the order of its plan.

    None when the client does not know them: a view or a text of SQL names them on the server.
    """
    frame: Any = df
    client = frame.sparkSession.client
    try:
        relations = list(_streaming(frame._plan.to_proto(client).root))
        return tuple(_read(each, client) for each in relations)
    except unplanned():
        return None


def _streaming(relation: Proto) -> Iterator[Proto]:
    """Yield the relations that read a stream, in the order of the plan."""
    kind = relation.WhichOneof("rel_type")
    if kind is None:
        return
    if kind == "read" and relation.read.is_streaming:
        yield relation
    for field, value in getattr(relation, kind).ListFields():
        if field.message_type is not None and field.message_type.name == "Relation":
            for each in value if hasattr(value, "append") else (value,):
                yield from _streaming(each)


def _read(relation: Proto, client: Any) -> Read:
    from pyspark.sql.connect import proto

    source = relation.read.data_source
    given = dict(source.options)
    if source.paths:
        given["path"] = ",".join(source.paths)
    kept = keep_options(given.items())
    columns = _columns(client.schema(proto.Plan(root=relation)))
    named = {name.lower(): value for name, value in given.items()}
    topics = filter(None, (named.get(each) for each in ("subscribe", "subscribepattern", "assign")))
    return Read(
        paths=tuple(source.paths) or tuple(filter(None, [named.get("path")])),
        table=relation.read.named_table.unparsed_identifier,
        format=source.format,
        options={**kept, "format": redact(source.format), "schema": columns},
        topics=tuple(map(redact, topics)),
    )


def _columns(schema: Any) -> str:
    """Return what identifies the columns of a source: as the JVM writes a schema, hashed."""
    text = json.dumps(schema.jsonValue(), separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:16]
