"""Every cell of the matrix. What plays them is imported elsewhere, so that this needs no Spark."""

from __future__ import annotations

import random
from collections.abc import Sequence

from campaigns.target_changes.cells import Cell, cells_of
from campaigns.target_changes.delta import rows as delta_rows
from campaigns.target_changes.delta import tables as delta_tables
from campaigns.target_changes.postgres.columns import COLUMNS
from campaigns.target_changes.postgres.constraints import CONSTRAINTS, RIGHTS
from campaigns.target_changes.postgres.partitions import PARTITIONS
from campaigns.target_changes.postgres.rows import ROWS, STORAGE, TABLES
from campaigns.target_changes.postgres.sessions import SESSIONS

POSTGRES, DELTA = "postgres", "delta"
KINDS = (POSTGRES, DELTA)

_POSTGRES = (*ROWS, *TABLES, *STORAGE, *COLUMNS, *CONSTRAINTS, *RIGHTS, *PARTITIONS, *SESSIONS)
_DELTA = (*delta_rows.ROWS, *delta_rows.FILES, *delta_tables.TABLES, *delta_tables.COLUMNS)

CELLS = (*cells_of(POSTGRES, _POSTGRES), *cells_of(DELTA, _DELTA))


def choose(kind: str | None, only: str, *, seed: int = 0, sample: int = 0) -> Sequence[Cell]:
    """Return the cells of a kind whose names have a text in them, or a sample of those."""
    found = [cell for cell in CELLS if kind in (None, cell.kind) and only in cell.name]
    if not 0 < sample < len(found):
        return found
    kept = random.Random(seed).sample(range(len(found)), sample)  # noqa: S311 - not a secret
    return [found[each] for each in sorted(kept)]
