"""Whether a Delta table is still as a stream has left it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.checkpoint.text import parse_json_object

if TYPE_CHECKING:
    from holdfast.sinks.delta.log_ledger import DeltaLedger, LedgerState
    from holdfast.sinks.delta.target import Target


_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}
"""Types that hold every value of another one."""


def find_change(ledger: DeltaLedger, standing: LedgerState | None, *, target: Target) -> str | None:
    """Say what shows that the table does not hold what its ledger row says; None if nothing does.

    Args:
        ledger: Of the stream.
        standing: What it has read last; None when there is no table.
        target: The table that the start has found.
    """
    if standing is None or standing.is_gone:
        return "it was deleted, or replaced by another table"
    if standing.unseen is not None:
        return "its log was cleaned up: nobody can tell what others committed since the last batch"
    return _find_replaced(standing, target) or _find_lost(ledger, standing)


def _find_replaced(standing: LedgerState, target: Target) -> str | None:
    if standing.is_rewound:
        return "it was replaced by an older copy of itself while a batch was written"
    if target.table_id is not None and standing.table_id not in (None, target.table_id):
        return "it is another table: its id differs from the one in the ledger row"
    changed = find_other_types(standing.schema or "", target.types or {})
    if changed:
        return f"its columns {', '.join(changed)} have other types now: Delta would cast values"
    return None


def _find_lost(ledger: DeltaLedger, standing: LedgerState) -> str | None:
    by = standing.replaced_by
    if by is not None:
        return f"version {by.version} of it ({by.operation}) took out what was there"
    lost = ledger.lost_fence()
    if lost is not None:
        return f"version {lost} of its log was replaced: a batch may be in it twice"
    return None


def find_other_types(schema: str, types: Mapping[str, str]) -> list[str]:
    """Return the stream's columns that a table has with a type that changes their values.

    Args:
        schema: Of the table, as Delta writes it.
        types: Of the stream's columns, by their names in lower case, where they are plain ones.
    """
    fields = (parse_json_object(schema) or {}).get("fields")
    there: dict[str, Any] = {
        str(field.get("name")).lower(): field.get("type")
        for field in (fields if isinstance(fields, list) else [])
        if isinstance(field, dict)
    }
    return [
        name
        for name, kind in types.items()
        if isinstance(there.get(name), str) and there[name] not in (kind, *_WIDER.get(kind, ()))
    ]
