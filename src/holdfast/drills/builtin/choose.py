"""Which of the built-in drills are meant."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fnmatch import fnmatchcase

from holdfast.drills.builtin.cells import CELLS, Cell
from holdfast.drills.phases import EVERY
from holdfast.errors import ConfigError


def choose_cells(names: Sequence[str], *, sample: int | None = None, seed: int = 0) -> list[Cell]:
    """Return the drills of these names: whole ones, streams, or patterns of them.

    Args:
        names: `delta-append/commits-before`, `delta-append`, `*/commits-*`; without any, all. The
            chain of all phases is meant only by its name, `*/every`: it has the same kills.
        sample: So many of them, drawn by the seed.
        seed: Of the sample.

    Raises:
        ConfigError: A name is that of no drill.
    """
    chosen = dict.fromkeys(cell for name in names or ["*/*"] for cell in _named(name))
    cells = [CELLS[name] for name in chosen]
    if sample is None or sample >= len(cells):
        return cells
    drawn = random.Random(seed).sample(range(len(cells)), sample)  # noqa: S311 - to be replayed
    return [cells[at] for at in sorted(drawn)]


def _named(name: str) -> list[str]:
    pattern = name if "/" in name else f"{name}/*"
    is_meant = pattern.endswith(f"/{EVERY}")
    found = [
        name
        for name, cell in CELLS.items()
        if fnmatchcase(name, pattern) and (is_meant or cell.phase.name != EVERY)
    ]
    if not found:
        raise ConfigError(f"There is no drill {name!r}: holdfast drill list names them.")
    return found
