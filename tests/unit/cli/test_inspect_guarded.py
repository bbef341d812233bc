"""What `holdfast inspect` shows of a stream that Holdfast guards: its record lies beside it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_json import InspectJson
from holdfast.record.documents import read_document, replace
from holdfast.record.generations import Generation
from holdfast.record.leases import release
from holdfast.record.owner import this_process
from holdfast.record.runs import FAILED
from tests.unit.cli.guarding import PLACE, Guarded
from tests.unit.cli.inspecting import Inspect


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    return Guarded(tmp_path)


def row_of(lines: list[str], label: str) -> str:
    (found,) = [line for line in lines if line.startswith(f"  {label} ")]
    return " ".join(found.split())


def test_a_running_driver_is_named_with_its_heartbeat(inspect: Inspect, guarded: Guarded) -> None:
    guarded.take()
    _, lines = inspect(guarded.checkpoint)
    (said,) = [line for line in lines if line.startswith("Driver ")]
    assert said.startswith("Driver etl-7/4411 is running readings now (heartbeat ")
    assert said.endswith("A pending batch is normal while a driver runs.")
    assert "What to do: Nothing: readings is running." in lines
    assert row_of(lines, "lease").startswith("lease epoch 1, etl-7/4411 state held, heartbeat ")


def test_a_heartbeat_that_is_old_is_an_expired_lease(inspect: Inspect, guarded: Guarded) -> None:
    lease = guarded.take()
    old = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
    os.utime(guarded.checkpoint.parent / "_holdfast/readings" / lease.path, (old, old))
    _, lines = inspect(guarded.checkpoint)
    assert not any(line.startswith("Driver ") for line in lines)
    assert row_of(lines, "lease").endswith("a start waits up to 30 s")


def test_a_released_lease_says_that_no_driver_runs(inspect: Inspect, guarded: Guarded) -> None:
    release(guarded.record, guarded.take())
    _, lines = inspect(guarded.checkpoint)
    assert row_of(lines, "lease").endswith("state released: no driver is running")


def test_a_process_of_this_machine_that_ended_is_not_waited_for(
    inspect: Inspect, guarded: Guarded
) -> None:
    guarded.take(msgspec.structs.replace(this_process(), pid_started="1"))
    _, lines = inspect(guarded.checkpoint)
    assert not any(line.startswith("Driver ") for line in lines)
    assert row_of(lines, "lease").endswith("the owner's process has ended: a start does not wait")


def test_how_the_last_run_ended_is_shown(inspect: Inspect, guarded: Guarded) -> None:
    guarded.run(PLACE, ended=FAILED)
    _, lines = inspect(guarded.checkpoint)
    assert row_of(lines, "last run") == (
        "last run Spark 4.2.0, started 2026-11-16 10:00:00 UTC "
        "end failed with AnalysisException, 2026-11-16 11:30:00 UTC"
    )


def test_a_pending_batch_passes_where_every_sink_has_a_ledger(
    inspect: Inspect, guarded: Guarded
) -> None:
    guarded.run(PLACE)
    code, lines = inspect(guarded.checkpoint, "--check")
    assert code == ExitCode.DONE
    assert lines[0] == (
        "Batch 3 is pending: the next start runs it again, same range (files, 1 file)."
    ), "the contract says that the query is stateless"
    assert lines[2].startswith("What to do: Nothing. Start readings with hf.start: the ledger")
    assert row_of(lines, "state").startswith("state none ")
    assert row_of(lines, "into").endswith("prevented by the ledger in each sink, with hf.start")
    code, lines = inspect(guarded.checkpoint.parent)
    assert code == ExitCode.DONE
    assert lines[0] == "1 checkpoint: 1 repeats a batch that its ledger recognises."


def test_a_pending_batch_does_not_pass_where_a_sink_has_no_ledger(
    inspect: Inspect, guarded: Guarded
) -> None:
    """Of a function of the user's (`hf.ForeachBatch`) the contract has no place."""
    guarded.run()
    code, lines = inspect(guarded.checkpoint, "--check")
    assert code == ExitCode.FOUND
    assert row_of(lines, "into").endswith("possible: a sink has no ledger")
    assert inspect(guarded.checkpoint.parent, "--check")[0] == ExitCode.FOUND


def test_a_replaced_generation_says_so(inspect: Inspect, guarded: Guarded) -> None:
    guarded.open(2, guarded.checkpoint.with_name("readings.g2"))
    _, lines = inspect(guarded.checkpoint)
    assert "What to do: Nothing: generation 2 of readings replaced this checkpoint." in lines
    assert row_of(lines, "stream").endswith("generation 1, replaced by generation 2")


def test_a_broken_record_is_said_and_never_taken_for_a_guard(
    inspect: Inspect, guarded: Guarded
) -> None:
    guarded.run(PLACE)
    guarded.record.put("generations/0001.json", b"{}")
    code, lines = inspect(guarded.checkpoint, "--check")
    assert code == ExitCode.FOUND
    assert "Holdfast's record of the stream (It is not what Holdfast writes there" in lines[-2]


def test_the_record_of_another_checkpoint_is_not_this_ones(
    inspect: Inspect, tmp_path: Path
) -> None:
    guarded = Guarded(tmp_path / "root")
    guarded.run(PLACE)
    (tmp_path / "root").rename(tmp_path / "moved")
    code, lines = inspect(tmp_path / "moved/readings", "--check")
    assert code == ExitCode.FOUND
    assert "generations/0001.json names the checkpoint" in lines[-2]


def test_a_program_gets_the_same_facts(inspect: Inspect, guarded: Guarded) -> None:
    guarded.take()
    guarded.run(PLACE)
    _, lines = inspect(guarded.checkpoint, "--format", "json")
    document = json.loads("\n".join(lines))
    msgspec.convert(document, InspectJson, strict=True)
    assert document["verdict"] == "safe"
    assert document["record"]["stream"] == "readings"
    assert document["record"]["has_ledgers"] is True
    assert document["record"]["is_running"] is True
    assert document["record"]["lease"]["owner"] == "etl-7/4411"
    assert document["record"]["run"]["ended"] == "running"


def test_a_copy_with_another_query_id_is_not_recognised(inspect: Inspect, guarded: Guarded) -> None:
    """The ledger refuses its batches: a start is not as safe as the record makes it look."""
    guarded.run(PLACE)
    metadata = guarded.checkpoint / "metadata"
    metadata.write_text(metadata.read_text().replace("86147e39", "00000000"))
    (guarded.checkpoint / ".metadata.crc").unlink()
    assert inspect(guarded.checkpoint, "--check")[0] == ExitCode.FOUND
    assert inspect(guarded.checkpoint.parent, "--check")[0] == ExitCode.FOUND


def adopt(guarded: Guarded, place: Path) -> None:
    """Make the stream one that adopted a checkpoint at another place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    guarded.checkpoint.rename(place)
    generation = read_document(guarded.record, "generations/0001.json", Generation)
    assert generation is not None
    changes = {"why": "adopted", "checkpoint": str(place)}
    replace(guarded.record, msgspec.structs.replace(generation, **changes))


def test_an_adopted_checkpoint_elsewhere_is_a_row_too(inspect: Inspect, tmp_path: Path) -> None:
    guarded, old = Guarded(tmp_path / "root"), tmp_path / "old/checkpoint"
    guarded.run(PLACE)
    adopt(guarded, old)
    code, lines = inspect(tmp_path / "root", "--check")
    assert code == ExitCode.DONE
    assert lines[0] == "1 checkpoint: 1 repeats a batch that its ledger recognises."
    assert lines[3].startswith(f" {old} ")


def test_an_adopted_checkpoint_below_the_directory_is_one_row(
    inspect: Inspect, tmp_path: Path
) -> None:
    guarded = Guarded(tmp_path)
    adopt(guarded, tmp_path / "old/checkpoint")
    _, lines = inspect(tmp_path)
    assert lines[0].startswith("1 checkpoint: ")
    assert lines[3].startswith(" old/checkpoint ")


def test_a_stream_whose_record_is_broken_and_whose_checkpoint_is_not_here_is_a_row(
    inspect: Inspect, guarded: Guarded
) -> None:
    adopt(guarded, guarded.checkpoint.parent / "gone/checkpoint")
    guarded.record.put("generations/0001.json", b"{}")
    code, lines = inspect(guarded.checkpoint.parent)
    assert code == ExitCode.NOT_JUDGED
    assert any(line.startswith(" readings ") and "could not be read" in line for line in lines)
