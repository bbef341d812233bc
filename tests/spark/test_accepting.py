"""Going on past a refusal: once, by its code and nonce, and then as the refusal has said."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.errors import ConfigError
from holdfast.streams.refusal import StartRefusedError
from tests.spark.file_stream import Stream, remove

pytestmark = pytest.mark.sampled(4)


def refused(stream: Stream, **more: Any) -> StartRefusedError:
    with pytest.raises(StartRefusedError) as found:
        stream.run(**more)
    return found.value


def accept(error: StartRefusedError, *codes: str) -> str:
    return " ".join(f"{code}:{error.nonces[code]}" for code in codes)


def delete_row(stream: Stream) -> None:
    stream.execute("DELETE FROM holdfast.ledger")


def restore_sink(stream: Stream) -> None:
    """As a backup from after batch 1 has it."""
    stream.execute(
        "DELETE FROM readings WHERE value = 'row 2'; DELETE FROM holdfast.history WHERE batch > 1;"
        " UPDATE holdfast.ledger SET last_batch = 1, digest = h.digest FROM holdfast.history h"
        " WHERE h.batch = 1"
    )


def delete_tail(stream: Stream) -> None:
    newest = max(int(path.name) for path in (stream.checkpoint / "commits").glob("[0-9]*"))
    for directory in ("commits", "offsets", "sources/0"):
        remove(stream.checkpoint / f"{directory}/{newest}")


def delete_all(stream: Stream) -> None:
    for name in ("offsets", "commits", "sources"):
        shutil.rmtree(stream.checkpoint / name)


def truncate(stream: Stream) -> None:
    stream.execute("TRUNCATE readings")


OLD = ["row 0", "row 1", "row 2"]
CASES: dict[str, tuple[Callable[[Stream], None], str, list[str]]] = {
    "the row is gone, and the sink whole": (delete_row, "HF601", [*OLD, "row 3"]),
    "what the backup lacks stays missing": (restore_sink, "HF603", ["row 0", "row 1", "row 3"]),
    "what the old checkpoint plans again is duplicated": (
        delete_tail,
        "HF604",
        [*OLD, *OLD[2:], "row 3"],
    ),
    "a deleted checkpoint brings all again": (delete_all, "HF606", [*OLD, *OLD, "row 3"]),
    "what was truncated stays missing": (truncate, "HF608", ["row 3"]),
}


@pytest.mark.parametrize(("hand", "code", "expected"), CASES.values(), ids=list(CASES))
def test_what_is_accepted_is_done_as_it_was_said_and_once(
    stream: Stream, hand: Callable[[Stream], None], *, code: str, expected: list[str]
) -> None:
    stream.run()
    hand(stream)
    stream.add(3)
    error = refused(stream)
    assert [finding.code for finding in error.findings] == [code]
    assert f'accept="{accept(error, code)}"' in str(error)
    stream.run(accept=accept(error, code))
    assert Counter(stream.rows()) == Counter(expected)
    stream.run()
    assert Counter(stream.rows()) == Counter(expected)
    (kept,) = (stream.root / "_holdfast/readings/accepted").iterdir()
    assert json.loads(kept.read_text())["code"] == code
    hand(stream)
    assert accept(refused(stream, accept=accept(error, code)), code) != accept(error, code)


def test_a_history_without_its_row_and_its_checkpoint_is_not_written_over(stream: Stream) -> None:
    stream.run()
    delete_row(stream)
    shutil.rmtree(stream.root)
    error = refused(stream)
    assert [finding.code for finding in error.findings] == ["HF601"]
    stream.run(accept=accept(error, "HF601"))
    assert Counter(stream.rows()) == Counter([*OLD, *OLD]), (
        "as was said: nothing is taken to be there"
    )


def test_a_stream_begins_anew_by_hand(stream: Stream) -> None:
    stream.run()
    truncate(stream)
    shutil.rmtree(stream.checkpoint)
    stream.add(3)
    error = refused(stream)
    assert [finding.code for finding in error.findings] == ["HF606", "HF608"]
    stream.run(accept=accept(error, "HF606", "HF608"))
    assert stream.rows() == [*OLD, "row 3"]
    stream.run()
    assert stream.rows() == [*OLD, "row 3"]


def test_a_nonce_of_another_refusal_accepts_nothing(stream: Stream) -> None:
    stream.run()
    delete_row(stream)
    assert refused(stream, accept="HF601:0000").nonces["HF601"] != "0000"
    refused(stream, accept="HF604:0000")
    with pytest.raises(ConfigError, match="CODE:NONCE"):
        stream.run(accept="HF601")


def test_a_record_that_was_lost_gives_out_no_epoch_again(stream: Stream) -> None:
    """Else a driver of before would hold the same epoch as the one that runs now."""
    for number in range(3, 6):
        stream.run()
        stream.add(number)
    record = stream.root / "_holdfast/readings"
    shutil.rmtree(record / "leases")
    shutil.rmtree(record / "runs")
    stream.run()
    assert [path.name for path in (record / "leases").iterdir()] == ["000004.json"]
    assert stream.rows() == [f"row {number}" for number in range(6)]


def test_a_deleted_root_is_refused_with_the_same_nonces_until_they_are_accepted(
    stream: Stream,
) -> None:
    stream.run()
    shutil.rmtree(stream.root)
    stream.add(3)
    first, second = refused(stream), refused(stream)
    assert first.nonces == second.nonces
    assert set(first.nonces) == {"HF602", "HF606"}
    stream.run(accept=accept(second, "HF602", "HF606"))
    assert Counter(stream.rows()) == Counter([*OLD, *OLD, "row 3"])
