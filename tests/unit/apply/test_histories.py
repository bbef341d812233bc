"""Histories in memory: those that once showed a hole, and a sample of random ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns.histories.campaign import Campaign, scratch
from campaigns.histories.generate import generate
from campaigns.histories.history import History, SinkShape, from_json
from campaigns.histories.model import Expected, TableAccount, Value, compare
from campaigns.histories.planted import PLANTS, find_plant
from campaigns.histories.process import one_process
from campaigns.histories.shrink import shrink

KEPT = Path(__file__).parent / "histories"
SEED, SAMPLE, PART = 25, 240, 40


@pytest.fixture(scope="module")
def campaign() -> Iterator[Campaign]:
    with scratch() as home, one_process():
        yield Campaign(home=home)


def kept_histories() -> Iterator[object]:
    for path in sorted(KEPT.glob("*.json")):
        yield pytest.param(path, id=path.stem)


@pytest.mark.parametrize("path", list(kept_histories()))
def test_a_history_that_showed_a_hole_holds(path: Path, campaign: Campaign) -> None:
    played = campaign.play(from_json(path.read_text()))
    assert not played.wrong, "\n".join(played.told)


@pytest.mark.parametrize("first", range(0, SAMPLE, PART))
def test_random_histories_hold(first: int, campaign: Campaign) -> None:
    failed = []
    for index in range(first, first + PART):
        played = campaign.play(generate(SEED, index))
        if played.wrong:
            failed.append(f"{SEED}:{index} {played.wrong[0]}")
    assert not failed, "\n".join(failed)


def test_a_history_is_read_back_as_it_was_written() -> None:
    history = generate(SEED, 7)
    assert from_json(history.to_json()) == history


def test_the_same_seed_gives_the_same_history() -> None:
    assert generate(SEED, 3) == generate(SEED, 3)
    assert generate(SEED, 3) != generate(SEED, 4)


def test_a_failing_history_is_made_short(campaign: Campaign) -> None:
    plant = next(each for each in PLANTS if each.name == "a batch that is there is run again")
    run = {"do": "run", "files": 1}
    killed = {"do": "run", "files": 2, "kill": 1}
    history = History(sinks=(SinkShape(),), ops=(run, run, killed, {"do": "lookup"}))
    with plant.put_in():
        played = campaign.play(history)
        short = shrink(history, played.kind, campaign.play)
    assert played.kind == "locked-out"
    assert short.ops == ({"do": "run", "files": 1, "kill": 1},)
    assert not campaign.play(history).wrong


@pytest.mark.parametrize(
    "name",
    ["a sink is settled whatever its row is"],
)
def test_a_planted_bug_is_found(name: str, campaign: Campaign) -> None:
    plant = next(each for each in PLANTS if each.name == name)
    found = find_plant(campaign, plant, seed=3, most=12)
    assert found.history is not None


def row(row_id: str, *, stamp: int | None = None) -> Expected:
    return Expected(row_id, row_id, "0", Value({"1", "2"}), "a", stamp=stamp)


def there(row_id: str, value: str = "1", **more: int) -> dict[str, object]:
    return {"id": row_id, "key": row_id, "seq": "0", "v": value, **more}


@pytest.mark.parametrize(
    ("actual", "kinds"),
    [
        ([there("r1"), there("r2")], []),
        ([there("r1")], ["lost"]),
        ([there("r1"), there("r2"), there("r2")], ["duplicated"]),
        ([there("r1"), there("r2", "3")], ["altered"]),
        ([there("r1"), there("r2"), there("r3")], ["unexpected"]),
    ],
)
def test_the_oracle_names_what_is_wrong(actual: list[dict[str, object]], kinds: list[str]) -> None:
    account = TableAccount("t", [row("r1"), row("r2")])
    assert [each.kind for each in compare(account, actual)] == kinds


def test_a_value_and_a_stamp_that_were_seen_must_stay() -> None:
    account = TableAccount("t", [row("r1")])
    assert compare(account, [there("r1", "2", stamp=7)]) == []
    assert [each.kind for each in compare(account, [there("r1", "1", stamp=7)])] == ["altered"]
    assert [each.kind for each in compare(account, [there("r1", "2", stamp=8)])] == ["altered"]
