"""Every test has a cost marker; one that has none gets it from its folder. Seeds are printed.

Of modules whose tests are slow and alike a sample is drawn; `HOLDFAST_ALL=1` runs them whole.
`HOLDFAST_SHARE=3` draws one test of three, for a second run of what another one runs whole.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

pytest_plugins = ["lab.fixtures"]

COSTS = ("unit", "spark", "drill")
FOLDERS = {"lab": "spark", "spark": "spark", "wheel": "spark", "drills": "drill"}
ALL = "HOLDFAST_ALL" in os.environ
"""Set to run every test of the modules of which a sample is enough."""
SHARE = int(os.environ.get("HOLDFAST_SHARE", "1"))
"""One test of so many is run."""
SEED = int(os.environ.setdefault("HOLDFAST_SEED", str(random.randrange(2**32))))


def pytest_report_header() -> str:
    return f"seed: {SEED} (repeat with HOLDFAST_SEED={SEED})"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if not any(item.get_closest_marker(cost) for cost in COSTS):
            folder = item.path.relative_to(here).parts[0]
            item.add_marker(FOLDERS.get(folder, "unit"))
    if not ALL:
        _sample(config, items)
    if SHARE > 1:
        drawn = [_is_drawn(item) for item in items]
        config.hook.pytest_deselected(
            items=[item for item, is_kept in zip(items, drawn, strict=True) if not is_kept]
        )
        items[:] = [item for item, is_kept in zip(items, drawn, strict=True) if is_kept]


def _is_drawn(item: pytest.Item) -> bool:
    return random.Random(f"{SEED} {item.nodeid}").randrange(SHARE) == 0


def _sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep of each module that is marked `sampled(n)` so many tests, drawn by the seed."""
    marked: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            marked.setdefault(item.path, []).append(item)
    left_out: set[pytest.Item] = set()
    for path, found in marked.items():
        (number,) = next(found[0].iter_markers("sampled")).args
        kept = random.Random(f"{SEED} {path.name}").sample(found, min(number, len(found)))
        left_out |= set(found) - set(kept)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of everything random in this session."""
    return SEED
