"""A record is hostile input: nothing outside is touched, every refusal has a code and a repair."""

from __future__ import annotations

import logging
import re
import subprocess
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.record.documents import RecordError
from holdfast.record.epochs import EpochJumpError
from holdfast.record.repair import move_aside
from holdfast.storage.location import parse_location
from tests.fuzz.limits import time_limit
from tests.house.repository import ROOT
from tests.unit.record.hostile.cases import CASES, Case
from tests.unit.record.hostile.guarded import Started, start
from tests.unit.record.hostile.site import Site, make_site

MOST_BYTES = 32 << 20
REPAIRS = 3
"""So many commands at most, one after another, until a stream starts again."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A stream in order, on a clock that goes on only by sleeping."""
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += max(seconds, 0.001)  # less could be lost in rounding

    monkeypatch.setattr(clock, "monotonic", lambda: passed[0])
    monkeypatch.setattr("holdfast.record.leases.time", SimpleNamespace(sleep=sleep))
    return make_site(tmp_path)


@contextmanager
def bounded() -> Iterator[None]:
    """Fail what takes long, or much memory."""
    tracemalloc.start()
    try:
        with time_limit():
            yield
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def refused(site: Site) -> HoldfastError | None:
    """Return what refuses a start; None when it goes on."""
    with bounded():
        try:
            start(site)
        except HoldfastError as error:
            return error
    return None


def repair(site: Site, error: HoldfastError | None, *, checkpoint: str | None) -> Started:
    """Run the commands that the messages give, until the stream starts."""
    for _ in range(REPAIRS):
        assert isinstance(error, RecordError)
        assert error.repair
        assert error.repair in str(error)
        subprocess.run(["sh", "-c", error.repair], check=True, timeout=10)
        try:
            with time_limit():
                return start(site, checkpoint=checkpoint)
        except HoldfastError as again:
            error = again
    pytest.fail(f"not repaired: {error}")


def test_the_command_of_the_page_repairs_what_it_shows(site: Site) -> None:
    page = (ROOT / "docs/reference/record.md").read_text()
    (shown,) = re.findall(r"```sh\n(.*?)\n```", page, re.DOTALL)
    site.write("leases/2097150.json", site.lease(epoch=2097150))
    error = refused(site)
    assert isinstance(error, EpochJumpError)
    here = shown.replace("/srv/streams", str(site.root))
    assert error.repair == here
    subprocess.run(["sh", "-c", here], check=True, timeout=10)
    assert start(site).epoch == 2
    assert (site.record / "removed/2097150.json").exists()


@pytest.mark.parametrize(
    ("place", "command"),
    [
        (
            "/a b/leases/1.json",
            "mkdir -p '/a b/removed' && mv '/a b/leases/1.json' '/a b/removed'/",
        ),
        ("s3a://lake/leases/1.json", "aws s3 mv s3://lake/leases/1.json s3://lake/removed/1.json"),
        (
            "hdfs://nn/s/leases/1.json",
            "hdfs dfs -mkdir -p hdfs://nn/s/removed && "
            "hdfs dfs -mv hdfs://nn/s/leases/1.json hdfs://nn/s/removed/",
        ),
        ("gs://l/leases/1.json", "gcloud storage mv gs://l/leases/1.json gs://l/removed/1.json"),
    ],
)
def test_a_file_is_moved_aside_where_it_is(place: str, command: str) -> None:
    assert move_aside(parse_location(place)) == command


def test_there_are_many_hostile_records_and_each_has_a_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len(CASES) >= 30


def test_a_record_in_order_starts(site: Site) -> None:
    assert refused(site) is None
    assert start(site).epoch == 3


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_record_reaches_nothing_outside_and_locks_nobody_out(
    site: Site, case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    case.plant(site)
    around = site.seen_around()
    with caplog.at_level(logging.INFO):
        error = refused(site)
    assert site.seen_around() == around
    assert (error.code if error else "") == case.code, error
    told = [record.getMessage() for record in caplog.records]
    assert "\x1b" not in "".join([str(error), *told])
    if error is not None:
        checkpoint = str(site.checkpoint) if case.is_adopted_again else None
        repair(site, error, checkpoint=checkpoint)
    inside = {path: seen for path, seen in site.seen_around().items() if path in around}
    assert inside == around
