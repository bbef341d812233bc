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
    for item in items:
        if not any(item.get_closest_marker(cost) for cost in COSTS):
            folder = item.path.relative_to(Path(__file__).parent).parts[0]
            item.add_marker(FOLDERS.get(folder, "unit"))
    left_out = _not_drawn(items)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _not_drawn(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return all but the sample of each module marked `sampled(n)`, and of the rest by share."""
    marked: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not ALL:
            marked.setdefault(item.path, []).append(item)
    left_out = {each for each in items if _chance(each.nodeid).randrange(SHARE) > 0}
    for path, found in marked.items():
        (number,) = next(found[0].iter_markers("sampled")).args
        left_out |= set(found) - set(_chance(path.name).sample(found, min(number, len(found))))
    return left_out


def _chance(name: str) -> random.Random:
    return random.Random(f"{SEED} {name}")


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of everything random in this session."""
    return SEED
