"""`holdfast inspect` of a stream that Holdfast has run says what its next start does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.spark.file_stream import Stream, remove


def inspect(place: Path, *asked: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "holdfast", "inspect", str(place), *asked]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    return ran.returncode, ran.stdout


def test_a_pending_batch_that_passes_the_check_is_not_duplicated(stream: Stream) -> None:
    stream.run()
    code, said = inspect(stream.checkpoint, "--check")
    assert code == 0
    assert said.startswith("Batch 2 is committed: the next start continues with batch 3")
    assert "released: no driver is running" in said
    assert "finished after batch 2" in said
    remove(stream.checkpoint / "commits/2")
    code, said = inspect(stream.checkpoint, "--check")
    assert code == 0
    assert said.startswith("Batch 2 is pending: the next start runs it again")
    assert "What to do: Nothing. Start readings with hf.start" in said
    assert inspect(stream.root, "--check")[1].startswith(
        "1 checkpoint: 1 repeats a batch that its ledger recognises."
    )
    stream.run()
    assert stream.rows() == ["row 0", "row 1", "row 2"]


def test_a_stream_that_is_running_is_said_to_run(stream: Stream) -> None:
    query = stream.start(trigger={"processingTime": "1 second"})
    try:
        query.processAllAvailable()
        _, said = inspect(stream.checkpoint)
    finally:
        query.stop()
    assert " is running readings now (heartbeat " in said
    assert "What to do: Nothing: readings is running." in said
