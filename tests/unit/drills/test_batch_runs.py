from __future__ import annotations

from holdfast.drills.batch_runs import BatchRun, batch_runs

IDS = "entry=streams/ids"
OTHER = "entry=streams/other"


def shown(*drivers: list[str]) -> list[list[tuple[str, int, str]]]:
    """Return stream, batch and what became of it; the points of a driver are a second apart."""
    timed = [[(float(at), point) for at, point in enumerate(points)] for points in drivers]
    return [[(run.stream, run.batch, kind(run)) for run in runs] for runs in batch_runs(timed)]


def kind(run: BatchRun) -> str:
    if run.ended is None:
        return "cut"
    return "skipped" if run.is_skipped else "repeated" if run.is_repeated else "completed"


def test_a_plain_stream_shows_its_batches_by_its_checkpoint() -> None:
    first = [f"{IDS}/offsets/0", f"{IDS}/commits/0", f"{IDS}/offsets/1"]
    second = ["streams-started", f"{IDS}/commits/1", f"{IDS}/offsets/2", f"{IDS}/commits/2"]
    assert shown(first, second) == [
        [("streams/ids", 0, "completed"), ("streams/ids", 1, "cut")],
        [("streams/ids", 1, "repeated"), ("streams/ids", 2, "completed")],
    ]


def test_a_batch_that_is_begun_again_and_killed_again_is_shown_each_time() -> None:
    first, again = ["streams-started", f"{IDS}/offsets/0"], ["spark=4.2.0", "streams-started"]
    assert shown(first, again, ["spark=4.2.0"], again) == [
        [("streams/ids", 0, "cut")],
        [("streams/ids", 0, "cut")],
        [],
        [("streams/ids", 0, "cut")],
    ]


def test_a_function_that_waits_for_its_stream_shows_its_batches_too() -> None:
    first, second = [f"{IDS}/offsets/0"], ["spark=4.2.0", f"{IDS}/commits/0"]
    assert shown(first, second)[1] == [("streams/ids", 0, "repeated")]


def test_a_guarded_stream_is_the_same_one_before_and_after_it_says_something() -> None:
    """Killed when batch 0 was planned, it had said nothing of it."""
    first = ["epoch=1", f"{IDS}/offsets/0"]
    second = ["epoch=2", "batch=0", "S1", "S7", f"{IDS}/commits/0", f"{IDS}/offsets/1"]
    third = ["epoch=3", "batch=1", "skipped=1", "S7", f"{IDS}/commits/1"]
    assert shown(first, second, third) == [
        [("streams/ids", 0, "cut")],
        [("streams/ids", 0, "completed"), ("streams/ids", 1, "cut")],
        [("streams/ids", 1, "skipped")],
    ]


def test_guarded_streams_of_one_driver_are_told_apart_by_their_plans() -> None:
    points = ["epoch=1", "epoch=1", f"{IDS}/offsets/0", "batch=0", "S7"]
    points += [f"{OTHER}/offsets/0", "batch=0", "S7"]
    assert shown(points) == [[("streams/ids", 0, "completed"), ("streams/other", 0, "completed")]]


def test_streams_of_which_only_their_words_are_known_are_numbered_by_their_starts() -> None:
    points = ["epoch=1", "batch=0", "S7", "epoch=1", "batch=0"]
    assert shown(points) == [[("start 1", 0, "completed"), ("start 2", 0, "cut")]]
