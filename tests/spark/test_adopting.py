"""A checkpoint that ran without Holdfast is taken over.

By somebody's word that its writer has stopped and, with a batch in hand, whether that has arrived.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.sinks import session
from holdfast.spark.classic import adapter
from holdfast.storage.location import Location
from holdfast.storage.write import Writer, open_writer
from holdfast.streams.heartbeat import LeaseRenewer
from holdfast.streams.place import SharedCheckpointError
from tests.spark.file_stream import Stream, remove
from tests.spark.test_accepting import accept, refused


@pytest.fixture
def old(stream: Stream, tmp_path: Path) -> Path:
    """The checkpoint of a query that wrote batches 0 to 2 by itself."""
    checkpoint = tmp_path / "old/checkpoint"
    stream.run_unguarded(checkpoint)
    return checkpoint


def test_a_checkpoint_between_two_batches_goes_on(stream: Stream, old: Path) -> None:
    error = refused(stream, checkpoint=str(old))
    assert [finding.code for finding in error.findings] == ["HF610"]
    stream.add(3)
    stream.run(checkpoint=str(old), accept=accept(error, "HF610"))
    assert stream.rows() == [f"row {number}" for number in range(4)]
    assert (old / "offsets/3").exists()
    assert not (stream.root / "readings").exists()
    generation = json.loads((stream.root / "_holdfast/readings/generations/0001.json").read_text())
    assert (generation["why"], generation["first_batch"]) == ("adopted", 3)
    stream.add(4)
    stream.run()  # it is known by now: with or without naming it
    stream.run(checkpoint=str(old))
    assert stream.rows() == [f"row {number}" for number in range(5)]


@pytest.mark.parametrize("is_held", [True, False])
def test_a_batch_in_hand_is_as_somebody_says(stream: Stream, old: Path, *, is_held: bool) -> None:
    remove(old / "commits/2")
    if not is_held:
        stream.execute("DELETE FROM readings WHERE value = 'row 2'")
    error = refused(stream, checkpoint=str(old))
    assert [finding.code for finding in error.findings] == ["HF610", "HF611", "HF612"]
    refused(stream, checkpoint=str(old), accept=accept(error, "HF610"))
    refused(stream, checkpoint=str(old), accept=accept(error, "HF610", "HF611", "HF612"))
    refused(stream, checkpoint=str(old), accept=accept(error, "HF612"))
    said = accept(error, "HF610", "HF612" if is_held else "HF611")
    stream.add(3)
    stream.run(checkpoint=str(old), accept=said)
    assert stream.rows() == [f"row {number}" for number in range(4)]


def test_what_was_accepted_is_used_up(stream: Stream, old: Path) -> None:
    said = accept(refused(stream, checkpoint=str(old)), "HF610")
    stream.run(checkpoint=str(old), accept=said)
    stream.execute("DELETE FROM holdfast.ledger")
    assert refused(stream, accept=said).nonces["HF610"] not in said


def test_a_checkpoint_has_one_stream_wherever_it_is_copied(stream: Stream, old: Path) -> None:
    said = accept(refused(stream, checkpoint=str(old)), "HF610")
    stream.run(checkpoint=str(old), accept=said)
    copy = old.parent / "copy"
    shutil.copytree(old, copy)
    for there, why in ((old, "runs on"), (copy, "one is a copy"), (old / "offsets", "no metadata")):
        with pytest.raises((SharedCheckpointError, ConfigError), match=why):
            stream.run(stream="other", checkpoint=str(there))
    with pytest.raises(ConfigError, match=r"runs on .* already"):
        stream.run(checkpoint=str(copy))


def test_a_record_that_was_lost_is_brought_back_by_its_checkpoint(stream: Stream) -> None:
    stream.run()
    shutil.rmtree(stream.root / "_holdfast")
    stream.add(3)
    with pytest.raises(SharedCheckpointError):
        stream.run()
    stream.run(checkpoint=str(stream.checkpoint))
    assert stream.rows() == [f"row {number}" for number in range(4)]


def test_a_checkpoint_at_its_own_place_can_be_taken_over(stream: Stream) -> None:
    stream.run_unguarded(stream.checkpoint)
    with pytest.raises(SharedCheckpointError, match='take it over: checkpoint="'):
        stream.run()
    error = refused(stream, checkpoint=str(stream.checkpoint))
    stream.add(3)
    stream.run(checkpoint=str(stream.checkpoint), accept=accept(error, "HF610"))
    assert stream.rows() == [f"row {number}" for number in range(4)]


def test_a_query_that_went_on_after_a_refusal_is_still_being_adopted(
    stream: Stream, old: Path
) -> None:
    """What a refused start has seen does not bind the next one."""
    refused(stream, checkpoint=str(old))
    assert not (stream.root / "_holdfast/readings/generations").exists()
    stream.add(3)
    stream.add(4)
    stream.run_unguarded(old)  # it had not been stopped
    remove(old / "commits/4")  # and was killed with batch 4 in the table
    error = refused(stream, checkpoint=str(old))
    assert [finding.code for finding in error.findings] == ["HF610", "HF611", "HF612"]
    stream.run(checkpoint=str(old), accept=accept(error, "HF610", "HF612"))
    assert stream.rows() == [f"row {number}" for number in range(5)]


def test_a_function_takes_a_checkpoint_over(stream: Stream, old: Path) -> None:
    seen = []
    stream.add(3)
    keep = hf.ForeachBatch(lambda _, number: seen.append(number), name="keep")
    stream.run(checkpoint=f"file://{old}", into=keep)
    assert seen == [3]


def test_a_function_gets_nothing_once_the_lease_may_be_another_drivers(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[int]()

    def keep(_: DataFrame, number: int) -> None:
        seen.append(number)
        # From here on the store confirms nothing any more, for longer than the term.
        monkeypatch.setattr(LeaseRenewer, "is_confirmed", lambda _: False)

    with pytest.raises(Exception, match="The lease was not renewed for a whole term"):
        stream.run(into=hf.ForeachBatch(keep))
    assert seen == [0]
    monkeypatch.undo()
    stream.run(into=hf.ForeachBatch(lambda _, number: seen.append(number), name="keep"))
    assert seen == [0, 1, 2]


class OpenedError(Exception):
    """No store is opened here: without options it would ask the network for credentials."""


def test_a_checkpoint_has_the_settings_of_its_own_bucket(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the root is on disk."""

    def spy(location: Location, options: dict[str, str]) -> Writer:
        if location.scheme == "s3":
            raise OpenedError(options["endpoint"])
        return open_writer(location, options)

    monkeypatch.setattr(session, "open_writer", spy)
    settings = {"fs.s3a.bucket.lake.endpoint": "http://127.0.0.1:1"}
    monkeypatch.setattr(adapter, "hadoop_settings", lambda _: settings)
    with pytest.raises(OpenedError, match=r"http://127\.0\.0\.1:1"):
        stream.start(checkpoint="s3a://lake/old")
