"""Faults of whole rows, and what a proof must say of each."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.proof.values import ProofVerdict, TableProof


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFault:
    """Something that happens to whole rows.

    In a statement `{r}` is the id of a row, `{n}` the number of rows, and `{rest}` the columns
    after `id`, `name` and `seq`.
    """

    label: str
    statements: tuple[str, ...]
    appended: tuple[int, int, int, int]
    """Rows lost, duplicated, altered and unexpected, where rows are appended."""
    merged: tuple[int, int, int, int]
    """The same where they are merged by key."""
    others: int = 0
    """Keys that a merged table has of other writers: they are named, and not held against it."""


_COPY = "INSERT INTO {t} SELECT * FROM {t} WHERE id = {r}"
ROW_FAULTS = (
    RowFault(
        label="a row lost",
        statements=("DELETE FROM {t} WHERE id = {r}",),
        appended=(1, 0, 0, 0),
        merged=(1, 0, 0, 0),
    ),
    RowFault(
        label="a row duplicated", statements=(_COPY,), appended=(0, 1, 0, 0), merged=(0, 1, 0, 0)
    ),
    RowFault(
        label="a row lost and another one duplicated",
        statements=(_COPY, "DELETE FROM {t} WHERE id = {r} + 1"),
        appended=(1, 1, 0, 0),
        merged=(1, 1, 0, 0),
    ),
    RowFault(
        label="an older row of the same key",
        statements=("INSERT INTO {t} SELECT id, name, 0, {rest} FROM {t} WHERE id = {r}",),
        appended=(0, 0, 0, 1),
        merged=(0, 1, 0, 0),
    ),
    RowFault(
        label="an older row in the place of the newest",
        statements=("UPDATE {t} SET seq = 0 WHERE id = {r}",),
        appended=(1, 0, 0, 1),
        merged=(0, 0, 1, 0),
    ),
    RowFault(
        label="a row moved to another key",
        statements=("UPDATE {t} SET id = {n} + 7 WHERE id = {r}",),
        appended=(1, 0, 0, 1),
        merged=(1, 0, 0, 0),
        others=1,
    ),
    RowFault(
        label="a key with a space at its end",
        statements=("UPDATE {t} SET name = concat(name, ' ') WHERE id = {r}",),
        appended=(1, 0, 0, 1),
        merged=(1, 0, 0, 0),
        others=1,
    ),
    RowFault(
        label="the keys of two rows swapped",
        statements=(
            "UPDATE {t} SET id = CASE WHEN id = {r} THEN {r} + 1 ELSE {r} END "
            "WHERE id IN ({r}, {r} + 1)",
        ),
        appended=(2, 0, 0, 2),
        merged=(2, 0, 0, 0),
        others=2,
    ),
    RowFault(
        label="every row twice",
        statements=("INSERT INTO {t} SELECT * FROM {t}",),
        appended=(0, -1, 0, 0),
        merged=(0, -1, 0, 0),
    ),
    RowFault(
        label="every row gone",
        statements=("DELETE FROM {t} WHERE id >= 0",),
        appended=(-1, 0, 0, 0),
        merged=(-1, 0, 0, 0),
    ),
    RowFault(
        label="a row of another writer",
        statements=("INSERT INTO {t} SELECT id + {n}, name, seq, {rest} FROM {t} WHERE id = {r}",),
        appended=(0, 0, 0, 1),
        merged=(0, 0, 0, 0),
        others=1,
    ),
)
"""-1 is every row."""


def figures(found: TableProof) -> tuple[int, int, int, int]:
    """Return what a proof counted."""
    compared = found.compared
    assert compared is not None, found.reason
    return compared.lost, compared.duplicated, compared.altered, compared.unexpected


def find_wrong(fault: RowFault, found: TableProof, *, is_merged: bool, rows: int) -> str:
    """Say what is wrong with a proof of a table with a fault; empty when nothing is."""
    wanted = fault.merged if is_merged else fault.appended
    wanted_rows = tuple(rows if each < 0 else each for each in wanted)
    others = fault.others if is_merged else 0
    told = any(each.startswith(f"{others} keys") for each in found.left_out)
    verdict = ProofVerdict.NOT_EXACT if any(wanted) else ProofVerdict.EXACT
    if found.verdict is not verdict:
        return f"{found.verdict} instead of {verdict}: {found.reason}"
    if figures(found) != wanted_rows:
        return f"counted {figures(found)} instead of {wanted_rows}"
    return "" if told is bool(others) else f"keys of other writers: {found.left_out}"
