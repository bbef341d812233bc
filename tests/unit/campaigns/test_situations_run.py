"""Situations are made one after the other, on one session and one broker."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from campaigns import silent_traps
from campaigns.situations import __main__ as command
from campaigns.situations import running
from campaigns.situations.running import run_all
from campaigns.situations.situation import Bench, Shown, Situation


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Those that were started; there is no Spark."""
    started: list[object] = []

    def start() -> Any:
        started.append(object())
        return nullcontext(started[-1])

    monkeypatch.setattr(running, "Kafka", start)
    monkeypatch.setattr(running, "start_session", lambda *_: "the session")
    return started


def make_two(seen: list[Bench]) -> tuple[Situation, ...]:
    """Two situations of a rule that finds neither."""

    def make(bench: Bench) -> Shown:
        assert list(bench.place.iterdir()) == []
        (bench.place / "checkpoint").mkdir()
        seen.append(bench)
        return Shown(healthy=(), findings=())

    return tuple(
        Situation(name=name, code="HF001", make=make, trap="A trap.") for name in ("one", "two")
    )


def test_each_has_a_place_of_its_own_and_they_share_the_rest(brokers: list[object]) -> None:
    seen: list[Bench] = []
    ran = list(run_all(make_two(seen)))
    assert [each.situation.name for each in ran] == ["one", "two"]
    assert [each.place.name for each in seen] == ["one", "two"]
    assert {str(each.spark) for each in seen} == {"the session"}
    assert brokers == [], "nobody has asked for one"
    assert not any(each.place.exists() for each in seen)


def test_the_broker_is_started_once(brokers: list[object]) -> None:
    asked: list[object] = []

    def make(bench: Bench) -> Shown:
        asked.append(bench.kafka())
        return Shown(healthy=(), findings=())

    names = ("one", "two")
    list(run_all(Situation(name=name, code="HF001", make=make) for name in names))
    assert asked == [*brokers, *brokers]
    assert len(brokers) == 1


@pytest.mark.usefixtures("brokers")
def test_what_is_not_as_said_fails_both_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (command, silent_traps):
        monkeypatch.setattr(module, "find_situations", lambda: make_two([]))
    assert command.main(["two"]) == 1
    assert "0 of 1 situations as said" in capsys.readouterr().out
    assert silent_traps.main() == 1
    out = capsys.readouterr().out
    assert out.count("HF001 was not found") == 2
    assert "0 of 2 traps as said" in out
