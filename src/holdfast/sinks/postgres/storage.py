"""What became of a table's storage between two looks at it. Pure.

The ledger row keeps the storage of its table as text: a line for the table and, below a partitioned
one, a line for each partition (`ledger_rows.STORAGE`). Partitions come and go: a new one is
created for each day, an old one is dropped for retention. What must not happen unnoticed is that
the table, or a partition that stays in use, is emptied or replaced.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One line: a table or a partition."""

    oid: str
    file: str
    bounds: str
    """Its parent and the values it takes; empty for the table itself."""


def find_change(before: str, now: str | None) -> str | None:
    """Return how the table was replaced, emptied or rewritten; None if it still has its rows."""
    if now is None:
        return "it was dropped or renamed"
    old, new = _parse(before), _parse(now)
    if old[0].oid != new[0].oid:
        return "it was dropped and created again, or another table has its name"
    if old[0].file != new[0].file:
        return "it was truncated, restored or rewritten"
    return _find_partition_change(old[1:], new[1:])


def _find_partition_change(old: list[Relation], new: list[Relation]) -> str | None:
    there = {each.oid: each for each in new}
    created = {each.bounds for each in new} - {each.bounds for each in old if each.oid in there}
    for each in old:
        if each.oid in there and there[each.oid].file != each.file:
            return f"its partition {each.bounds.partition(' ')[2]} was truncated or rewritten"
        if each.oid not in there and each.bounds in created:
            return f"its partition {each.bounds.partition(' ')[2]} was replaced"
    if old and not any(each.oid in there for each in old):
        return "all its partitions were detached or dropped"
    return None


def find_emptied(before: str, now: str, oids: tuple[str, ...]) -> tuple[str, ...]:
    """Return which tables and partitions have another file now, or were replaced.

    Partitions that are gone, with nothing in their place, are not among them.

    Args:
        before: The storage.
        now: The storage now.
        oids: Of the tables and partitions in question.
    """
    old, new = ({each.oid: each for each in _parse(storage)} for storage in (before, now))
    created = {each.bounds for each in new.values()} - {
        each.bounds for oid, each in old.items() if oid in new
    }
    is_other = next(iter(old)) not in new
    return tuple(
        oid
        for oid in oids
        if oid in old
        and (
            new[oid].file != old[oid].file if oid in new else is_other or old[oid].bounds in created
        )
    )


def table_oid(storage: str) -> int:
    """Return the oid of the table that a storage is of."""
    return int(_parse(storage)[0].oid)


def _parse(storage: str) -> list[Relation]:
    relations = []
    for line in storage.split("\n"):
        place, _, bounds = line.partition(" ")
        oid, _, file = place.partition("/")
        relations.append(Relation(oid=oid, file=file, bounds=bounds))
    return relations
