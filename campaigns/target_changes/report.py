"""The table of the matrix, as the documentation has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from campaigns.target_changes.cells import Cell, When

_TITLES = {
    When.RUNNING: "between two batches",
    When.STOPPED: "while the stream is stopped",
    When.DURING: "during a batch",
}


def table_of(verdicts: Iterable[tuple[Cell, str]]) -> Iterator[str]:
    """Yield the lines of the table: a row per change, kinds of tables that agree in one."""
    rows: dict[str, dict[str, dict[When, str]]] = {}
    for cell, verdict in verdicts:
        of_change = rows.setdefault(cell.change.name, {})
        of_change.setdefault(cell.table.value, {})[cell.when] = verdict
    yield f"| change | table | {' | '.join(_TITLES.values())} |"
    yield f"| --- | --- | {' | '.join('---' for _ in _TITLES)} |"
    for change, tables in rows.items():
        alike: dict[tuple[str, ...], list[str]] = {}
        for table, by_when in tables.items():
            alike.setdefault(tuple(by_when.get(when, "") for when in When), []).append(table)
        for told, names in alike.items():
            yield f"| {change} | {', '.join(names)} | {' | '.join(told)} |"


def remarks_of(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield a line per change that has a remark."""
    remarks = {cell.change.name: cell.change.why for cell in cells}
    for name, why in remarks.items():
        if why:
            yield f"- {name}: {why}"


def page_of(kind: str, verdicts: Iterable[tuple[Cell, str]]) -> Iterator[str]:
    """Yield what the page says of one kind of sink."""
    found = [each for each in verdicts if each[0].kind == kind]
    if not found:
        return
    yield from table_of(found)
    remarks = list(remarks_of(cell for cell, _ in found))
    if remarks:
        yield from ("", *remarks)
