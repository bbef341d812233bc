"""Every test has a cost marker; one that has none gets it from its folder. Seeds are printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drawing import SEED, left_out

pytest_plugins = ["lab.fixtures"]

COSTS = ("unit", "spark", "drill")
FOLDERS = {
    "iceberg": "spark",
    "lab": "spark",
    "spark": "spark",
    "wheel": "spark",
    "drills": "drill",
}


def pytest_report_header() -> str:
    return f"seed: {SEED} (repeat with HOLDFAST_SEED={SEED})"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.get_closest_marker(cost) for cost in COSTS):
            folder = item.path.relative_to(Path(__file__).parent).parts[0]
            item.add_marker(FOLDERS.get(folder, "unit"))
    out = left_out(items)
    config.hook.pytest_deselected(items=list(out))
    items[:] = [item for item in items if item not in out]


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of everything random in this session."""
    return SEED
