"""Every test has a cost marker; one that has none gets it from its folder. Seeds are printed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

pytest_plugins = ["lab.fixtures"]

COSTS = ("unit", "spark", "drill")
FOLDERS = {"lab": "spark", "spark": "spark", "drills": "drill"}
SEED = int(os.environ.setdefault("HOLDFAST_SEED", str(random.randrange(2**32))))


def pytest_report_header() -> str:
    return f"seed: {SEED} (repeat with HOLDFAST_SEED={SEED})"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if not any(item.get_closest_marker(cost) for cost in COSTS):
            folder = item.path.relative_to(here).parts[0]
            item.add_marker(FOLDERS.get(folder, "unit"))


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of everything random in this session."""
    return SEED
