"""The five steps of a reset, one cell drawn by the seed: it must give the row that the page shows.

The whole table is `python -m campaigns.five_steps`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from campaigns.five_steps.__main__ import find_cells, markdown_row
from campaigns.five_steps.servers import Servers
from lab import Kafka, Postgres
from lab.scratch import scratch_directory
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/explanation/the-five-steps.md").read_text()
# How an old driver ends depends on the moment; the campaign plays it.
CELLS = {
    f"{cell.written}: {cell.variant}": cell
    for cell in find_cells()
    if "the old driver" not in cell.variant
}

pytestmark = pytest.mark.sampled(1)


@pytest.fixture
def servers(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> Iterator[Servers]:
    with scratch_directory() as scratch:
        yield Servers(kafka=kafka, postgres=postgres, spark=spark, scratch=scratch)


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_as_the_page_shows_it(name: str, servers: Servers) -> None:
    assert markdown_row(CELLS[name], CELLS[name].play(servers)) in PAGE
