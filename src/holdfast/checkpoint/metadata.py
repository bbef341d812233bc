"""`metadata`: the id of the query, and nothing else.

Grammar, from Spark 4.3 `runtime/StreamMetadata.scala`: one JSON object, no version line.

    {"id":"<uuid>"}

Sinks that recognise a batch do so by this id. It holds no schema, no trigger, no name, no run id.
"""

from __future__ import annotations

import re

import msgspec

from holdfast.checkpoint.text import parse_leading_object
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import QueryId

_UUID = re.compile(r"[0-9a-fA-F]{1,8}(-[0-9a-fA-F]{1,4}){3}-[0-9a-fA-F]{1,12}")


class QueryMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What `metadata` says."""

    query_id: QueryId


def parse_metadata(path: str, raw: bytes) -> QueryMetadata | Unparsed:
    """Read `metadata`."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return Unparsed(path=path, reason="it is not UTF-8 text")
    if not text.strip():
        return Unparsed(path=path, reason="the file is empty")
    found = parse_leading_object(text)
    if found is None:
        return Unparsed(path=path, reason="it is not a JSON object")
    query_id = found.get("id")
    if not isinstance(query_id, str) or not query_id:
        return Unparsed(path=path, reason='it has no "id" that is a string')
    if not _UUID.fullmatch(query_id):
        shown = query_id[:40]
        return Unparsed(
            path=path, reason=f"{shown!r} is not a uuid", spark_says="Invalid UUID string"
        )
    return QueryMetadata(query_id=QueryId(query_id))
