"""A checkpoint whose `state/` was deleted: never shown as fine."""

from __future__ import annotations

import pytest

from holdfast.evidence import Query, Refuses, Resumes, RunsAgain, Unknown
from holdfast.evidence.collect import collect
from holdfast.storage.memory import MemoryStorage
from tests.unit.checkpoint.archives import ARCHIVES, open_archive
from tests.unit.evidence.damaged import damaged, every, remove

OPERATORS = ("aggregation", "deduplication", "join", "groups", "session", "transform", "operators")
STATEFUL = [name for name in ARCHIVES if any(word in name for word in OPERATORS)]
NAMED = [name for name in STATEFUL if "format-2" in name]


@pytest.mark.parametrize("name", STATEFUL)
def test_a_start_that_spark_refuses_is_never_shown_as_fine(name: str) -> None:
    found = collect(damaged(name, remove("state"))).next_start()
    if isinstance(found, Resumes | RunsAgain):
        assert found.unless == "the query is stateful: there is no state/ directory"
    else:
        assert isinstance(found, Refuses | Unknown)


@pytest.mark.parametrize("name", NAMED)
def test_commit_entries_that_name_state_files_tell_that_there_was_state(name: str) -> None:
    found = collect(damaged(name, remove("state"))).next_start()
    assert isinstance(found, Refuses)
    assert found.because == "state/ is empty, but the query is stateful"


@pytest.mark.parametrize("pending", [False, True])
def test_a_watermark_makes_it_unknown(*, pending: bool) -> None:
    damage = every(remove("state"), *([remove("commits/5")] if pending else []))
    found = collect(damaged("4.2-aggregation", damage)).next_start()
    assert isinstance(found, Unknown)
    assert found.follows_from == ("offsets/5", "state")
    assert "If the query is stateful, Spark refuses to start" in found.because


def test_a_watermark_that_only_the_commit_has_makes_it_unknown() -> None:
    files = dict(open_archive("4.2-stateless").checkpoint.files)
    newest = max(path for path in files if path.startswith("commits/") and "/." not in path)
    files[newest] = b'v1\n{"nextBatchWatermarkMs":7}'
    found = collect(MemoryStorage(files)).next_start()
    assert isinstance(found, Unknown)
    assert found.follows_from == (newest, "state")


def test_the_first_batch_needs_no_state() -> None:
    damage = remove("state", "commits/*", "offsets/[1-9]")
    found = collect(damaged("4.2-aggregation-pending", damage)).next_start()
    assert isinstance(found, RunsAgain)
    assert (found.batch_id, found.unless) == (0, None)


def test_of_a_query_that_is_known_nothing_is_left_open() -> None:
    stateless = Query(sources=1, operators=())
    found = collect(open_archive("4.2-kafka").checkpoint).next_start(query=stateless)
    assert isinstance(found, Resumes)
    assert found.unless is None
