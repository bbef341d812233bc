"""`holdfast diagnose`, `facts` and `rules`: the answer first, the same in every format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run
from holdfast.evidence import collect as collecting
from holdfast.rules import RULES
from tests.unit.cli.inspecting import unpack

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def called(*arguments: str | Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as exited:
            run([*map(str, arguments)])
        assert isinstance(exited.value.code, int)
        return exited.value.code, capsys.readouterr().out

    return called


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    return unpack("4.2-aggregation", tmp_path)


def test_the_first_line_is_the_answer(call: Call, healthy: Path) -> None:
    code, out = call("diagnose", healthy)
    assert code == ExitCode.DONE
    assert out.splitlines()[0] == (
        "Nothing in the checkpoint speaks against a restart. "
        "Not looked at: the source (--probe), the sink (--sink LOCATION)."
    )


def test_deep_reads_state_files_to_their_end(call: Call, healthy: Path, tmp_path: Path) -> None:
    for store in (healthy / "state/0/0", healthy / "state/0/1"):
        (store / "6.snapshot").unlink()
        for each in store.glob(".6.*"):
            each.unlink()
    cut = healthy / "state/0/1/6.delta"
    cut.write_bytes(cut.read_bytes()[:40])
    code, out = call("diagnose", healthy, "--deep")
    assert code == ExitCode.FOUND
    assert out.startswith("It will not start: every attempt fails.")
    assert "HF418 state-file-damaged" in out
    assert f"`holdfast plan rewind {healthy} --to-batch 4 --sink WHERE -o plan.json`" in out
    code, out = call("plan", "rewind", healthy, "--to-batch", "5")
    assert code == ExitCode.REFUSED
    assert "Spark cannot go on after batch 5: state/0/1/6.delta is damaged" in out
    plan = tmp_path / "plan.json"
    code, out = call("plan", "rewind", healthy, "--to-batch", "4", "-o", plan)
    assert code == ExitCode.DONE
    code, out = call("apply", plan)
    listed = [line for line in out.splitlines() if line.startswith("  + ")]
    assert code == ExitCode.DONE
    assert len(listed) == 9, "of many files the first eight, and how many more"
    assert re.search(r" … and \d+ more files in .*/kept/.* \(--format json has all\)$", listed[-1])


def test_where_there_is_no_checkpoint_nothing_is_judged(call: Call, tmp_path: Path) -> None:
    code, out = call("diagnose", tmp_path)
    assert code == ExitCode.NOT_JUDGED
    assert out.startswith("There is no checkpoint at ")
    options = "--event-log DIRECTORY --sink WHERE -o plan.json"
    assert f"`holdfast plan resume {tmp_path} {options}` can give it back" in out


def test_the_notes_on_nothing_are_not_shown(call: Call, tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("1,2\n")
    _, with_notes = call("diagnose", tmp_path, "--notes")
    assert "HF" in with_notes, "there is a note to fold"
    _, out = call("diagnose", tmp_path)
    assert len(out.splitlines()) == 1


def test_facts_begin_with_it_where_there_is_no_checkpoint(call: Call, tmp_path: Path) -> None:
    _, diagnosed = call("diagnose", tmp_path)
    code, out = call("facts", tmp_path)
    assert code == ExitCode.NOT_JUDGED
    assert out.splitlines()[0] == diagnosed.splitlines()[0]
    assert out.splitlines()[2].split()[:2] == ["1", "checkpoint"]


def test_a_sink_that_cannot_be_read_makes_the_answer_unknown(call: Call, healthy: Path) -> None:
    code, out = call("diagnose", healthy, "--sink", healthy / "dropped")
    assert code == ExitCode.NOT_JUDGED
    assert out.startswith("Whether a restart is safe is not known: ")
    assert "dropped: there is no _delta_log" in out.splitlines()[0]


def test_a_source_that_cannot_be_asked_makes_the_answer_unknown(call: Call, tmp_path: Path) -> None:
    kafka = unpack("4.2-kafka", tmp_path)
    code, out = call("diagnose", kafka, "--probe")
    assert code == ExitCode.NOT_JUDGED
    assert "a checkpoint does not say where it is: add --source" in out.splitlines()[0]


def test_an_error_of_another_query_decides_nothing(
    call: Call, healthy: Path, tmp_path: Path
) -> None:
    log = tmp_path / "driver.log"
    other = (
        "[id = 00000000-0000-4000-8000-000000000000, runId = 00000000-0000-4000-8000-000000000001]"
    )
    log.write_text(
        f"ERROR MicroBatchExecution: Query {other} terminated with error\n"
        "org.apache.spark.SparkException: [KAFKA_DATA_LOSS.START_OFFSET_RESET] gone\n"
    )
    _, out = call("diagnose", healthy, "--error", log)
    assert out.startswith("Nothing in the checkpoint speaks against a restart.")
    assert "is of another checkpoint" in out


def test_a_source_that_the_checkpoint_does_not_have_is_an_error(call: Call, healthy: Path) -> None:
    code, _ = call("diagnose", healthy, "--source", "5=127.0.0.1:1")
    assert code == ExitCode.USAGE


def test_state_that_is_large_is_named_as_not_looked_at(
    call: Call, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "LARGEST_LOOKED_INTO", 0)
    code, out = call("diagnose", healthy)
    assert code == ExitCode.DONE
    assert out.splitlines()[0].endswith("what is in the state files (--deep).")


def test_the_json_has_the_same_answer(call: Call, healthy: Path) -> None:
    _, text = call("diagnose", healthy)
    code, out = call("diagnose", healthy, "--format", "json")
    found = json.loads(out)
    assert code == ExitCode.DONE
    assert (found["format"], found["version"]) == ("holdfast.diagnose", 2)
    assert found["verdict"] == "safe"
    assert found["summary"] == text.splitlines()[0]
    assert [each["number"] for each in found["facts"]] == list(range(1, 10))
    assert found["not_asked"] == ["source", "output"]


def test_the_sarif_names_every_rule(call: Call, healthy: Path) -> None:
    _, out = call("diagnose", healthy, "--format", "sarif")
    (one,) = json.loads(out)["runs"]
    assert [each["id"] for each in one["tool"]["driver"]["rules"]] == [rule.code for rule in RULES]


def test_the_markdown_begins_with_the_answer(call: Call, healthy: Path) -> None:
    _, out = call("diagnose", healthy, "--format", "markdown")
    assert out.startswith("**Nothing in the checkpoint speaks against a restart.")
    assert "| 9 | restarts |" in out


def test_a_fact_says_where_it_was_read_or_how_to_find_it_out(call: Call, healthy: Path) -> None:
    code, out = call("facts", healthy, "--format", "json")
    assert code == ExitCode.DONE
    facts = {each["name"]: each for each in json.loads(out)["facts"]}
    assert facts["query id"]["where"] == "metadata"
    assert facts["sink"]["value"] is None
    assert "--sink" in facts["sink"]["where"]
    assert all(each["where"] for each in facts.values())


def test_a_stream_that_has_no_record_is_named(call: Call, tmp_path: Path) -> None:
    code, _ = call("diagnose", "orders", "--root", tmp_path)
    assert code == ExitCode.USAGE


def test_every_rule_is_listed_and_explained(call: Call) -> None:
    _, out = call("rules", "list", "--format", "json")
    codes = [each["code"] for each in json.loads(out)["rules"]]
    assert {rule.code for rule in RULES} <= set(codes)
    for code in codes:
        exited, text = call("rules", "explain", code)
        assert exited == ExitCode.DONE
        assert text.startswith(f"{code} ")
        assert "## What it finds" in text


def test_a_rule_that_is_not_there_is_named(call: Call) -> None:
    code, _ = call("rules", "explain", "HF000")
    assert code == ExitCode.USAGE
