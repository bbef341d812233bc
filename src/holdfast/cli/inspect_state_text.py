"""State, for people: a table per operator, and one per store when asked for."""

from __future__ import annotations

from holdfast.checkpoint.state import BrokenChain, NotCounted
from holdfast.cli.table import columns
from holdfast.evidence.state import OperatorState, provider_of
from holdfast.evidence.state_content import StoreContent
from holdfast.wording import batches, size

_SHOWN_MISSING = 5


def render_state(state: tuple[OperatorState, ...], *, is_opened: bool) -> list[str]:
    """Return one line per operator, under a heading; nothing without state.

    Args:
        state: Held against what the next start needs.
        is_opened: Whether the files were read, not only listed.
    """
    if not state:
        return []
    rows: list[tuple[str, ...]] = [
        ("  operator", "name", "provider", "partitions", "versions", "needed", "size", "complete")
    ]
    rows += [(*_operator_row(each), _complete(each, is_opened=is_opened)) for each in state]
    missing = [path for each in state for path in each.missing]
    lines = ["", *columns(rows)]
    lines += [f"  damaged  {path}" for each in state for path in each.damaged[:_SHOWN_MISSING]]
    lines += [f"  missing  {path}" for path in missing[:_SHOWN_MISSING]]
    passed_over = [path for each in state for path in each.passed_over]
    lines += [
        f"  damaged  {path}: Spark uses an older snapshot and the changes since"
        for path in passed_over[:_SHOWN_MISSING]
    ]
    if len(missing) > _SHOWN_MISSING:
        lines.append(f"  missing  and {len(missing) - _SHOWN_MISSING:,} more")
    return lines


def _operator_row(found: OperatorState) -> tuple[str, ...]:
    operator = found.operator
    partitions = len({each.store.partition for each in found.stores})
    expected = "" if found.partitions in (None, partitions) else f" of {found.partitions}"
    common = sorted({file.version for store in operator.stores for file in store.files})
    return (
        f"  {operator.operator_id}",
        operator.name or "unknown",
        provider_of(operator) or "unknown",
        f"{partitions}{expected}",
        batches(common),
        "none" if found.version == 0 else f"{found.version}",
        size(sum(store.size_bytes for store in operator.stores)),
    )


def _complete(found: OperatorState, *, is_opened: bool) -> str:
    if found.missing or found.damaged:
        return "no"
    # RocksDB's snapshots are always opened; files of changes only with --state.
    return "yes" if is_opened else "yes (not opened)"


def render_stores(stores: tuple[StoreContent, ...]) -> list[str]:
    """Return one line per store, with its rows; nothing without state."""
    if not stores:
        return []
    rows: list[tuple[str, ...]] = [("  store", "versions", "size", "rows", "loaded from")]
    rows += [_store_row(each) for each in stores]
    damaged = [each for store in stores for each in store.damaged]
    return ["", *columns(rows), *(f"  damaged  {each.path}: {each.reason}" for each in damaged)]


def _store_row(found: StoreContent) -> tuple[str, ...]:
    numbers = sorted({file.version for file in found.store.files})
    return (
        f"  {found.store.directory}",
        batches(numbers),
        size(found.store.size_bytes),
        f"{found.rows:,}" if isinstance(found.rows, int) else "not counted",
        _loaded_from(found),
    )


def _loaded_from(found: StoreContent) -> str:
    if isinstance(found.chain, BrokenChain):
        return f"{found.chain.missing[-1]} is missing"
    if isinstance(found.rows, NotCounted):
        return found.rows.why
    files = [file.name for file in found.chain.files]
    return f"{files[0]} … {files[-1]}" if len(files) > 1 else "".join(files) or "nothing: empty"
