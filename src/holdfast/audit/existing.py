"""Which query of the code has which checkpoint that exists, and which checkpoint has none."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from holdfast.audit.model import Audit, AuditedQuery, FoundCheckpoint
from holdfast.errors import LocationError
from holdfast.evidence.checkpoints_below import Search
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader

_HOLE = re.compile(r"\{[^}]*\}")
_ANYTHING = "holdfast-anything"
"""Stands for what the code computes, while a location is parsed."""
_ABSOLUTE = re.compile(r"/|[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def join_checkpoints(audit: Audit, root: str, *, given: Mapping[str, tuple[str, ...]]) -> Audit:
    """Return an audit joined with the checkpoints below a location.

    Args:
        audit: The audit of the code.
        root: A local directory or a location in an object store.
        given: Checkpoint locations that jobs give to programs, by file.

    Raises:
        LocationError: The location is not one.
        ReadError: It cannot be listed.
    """
    search = Search(open_reader(root), lambda _overview, _record: None, open_at=open_reader)
    found = [each for each in search.run() if each.replaced_by is None]
    names = [str(each.location) for each in found]
    patterns = [(each, _patterns(each, given.get(each.file, ()))) for each in audit.queries]
    of_query = {
        id(query): tuple(name for name in names if any(p.fullmatch(_plain(name)) for p in own))
        for query, own in patterns
    }
    queries = tuple(replace(each, checkpoints=of_query[id(each)]) for each in audit.queries)
    checkpoints = tuple(
        FoundCheckpoint(
            location=name,
            queries=tuple(each.place for each in queries if name in each.checkpoints),
            unread=row.unread,
        )
        for row, name in zip(found, names, strict=True)
    )
    return replace(audit, queries=queries, checkpoints=checkpoints)


def _patterns(query: AuditedQuery, given: tuple[str, ...]) -> list[re.Pattern[str]]:
    """Return what the location of a query's checkpoint looks like; nothing if it is not known."""
    if query.is_guarded:
        name = re.escape(query.name or "")
        return [re.compile(rf".*/{name}(/.*)?")] if name else []
    value = query.checkpoint.value
    if value is None or _HOLE.fullmatch(value):
        return [re.compile(re.escape(_plain(each))) for each in given]
    named = _HOLE.sub(_ANYTHING, value.removesuffix("…"))
    is_relative = not _ABSOLUTE.match(named) and not value.startswith("{")
    plain = named.removeprefix("./").rstrip("/") if is_relative else _plain(named)
    pattern = re.escape(plain).replace(re.escape(_ANYTHING), ".+")
    more = ".*" if value.endswith("…") else ""
    return [re.compile(f"{'(.*/)?' if is_relative else ''}{pattern}{more}")]


def _plain(location: str) -> str:
    """Return a location as the storage spells it, so that s3a and a last slash do not matter."""
    if location.startswith(_ANYTHING):
        return location.rstrip("/")
    try:
        return str(parse_location(location))
    except LocationError:
        return location.rstrip("/")
