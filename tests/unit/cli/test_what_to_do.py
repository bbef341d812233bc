"""The next action that `holdfast inspect` names, and what `--check` makes of the verdict."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import VERBS, run
from holdfast.evidence import Refuses, Unknown
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.outcomes import UnknownCause
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.judgement.advice import advise
from holdfast.judgement.judge import judge
from holdfast.rules.commands import WITHOUT_BACKUP
from holdfast.storage.memory import MemoryStorage
from tests.house.repository import ROOT
from tests.unit.evidence.damaged import (
    Damage,
    Forbidden,
    damaged,
    every,
    inspected,
    on_line,
    remove,
    rewrite,
    write,
)
from tests.unit.evidence.test_refusal_codes import DAMAGES

COUNTS = "4.2-aggregation"
JUDGED = inspected(damaged(COUNTS)).judgement


def after(start: Refuses | Unknown) -> str:
    overview = replace(JUDGED.overview, next_start=start)
    return advise(judge(replace(JUDGED.case, overview=overview)))


def after_refusal(code: RefusalCode) -> str:
    refused = Refuses(code=code, error="", because="", follows_from=("offsets/5", "offsets/.6.crc"))
    return after(refused)


def after_unknown(cause: UnknownCause) -> str:
    unknown = Unknown(cause=cause, because="", follows_from=("offsets/5",))
    return after(unknown)


SENTENCES = [*map(after_refusal, RefusalCode), *map(after_unknown, UnknownCause)]


@pytest.mark.parametrize("said", SENTENCES)
def test_every_refusal_and_every_unknown_has_an_action_that_can_be_done(said: str) -> None:
    assert said.endswith(".")
    assert "{path}" not in said
    assert "{{" not in said
    for page in re.findall(r"docs/[a-z/-]+\.md", said):
        assert (ROOT / page).exists(), page
    for verb in re.findall(r"`holdfast ([a-z]+)", said):
        assert verb in VERBS, verb


def test_the_pages_that_the_sentences_name_exist() -> None:
    assert (ROOT / re.findall(r"docs/[a-z/]+\.md", WITHOUT_BACKUP)[0]).exists()
    assert (ROOT / "docs/reference/refusals.md").exists()


def test_a_checksum_in_the_way_is_the_file_to_move() -> None:
    judged = inspected(damaged(COUNTS, write("offsets/.6.crc", b"crc\0"))).judgement
    assert advise(judged) == (
        "Check that no query runs. If the sink holds the batch, restore its offset entry: planned "
        "anew, the batch has another range. Only if the sink does not hold it, run `holdfast plan "
        "resume memory://memory -o plan.json`: it takes the `.crc` file away."
    )


RESET = (
    "reset the stream with `holdfast plan reset memory://memory --from earliest --output truncate "
    "--sink WHERE -o plan.json`: the state is computed again."
)
SAID: dict[str, tuple[Damage, str]] = {
    "clean": (every(), "Nothing. Start the query."),
    "pending": (
        remove("commits/5"),
        "Nothing, if the sink is idempotent. Otherwise check whether the sink holds rows of batch "
        "5, and remove them before you start the query.",
    ),
    "skipped": (
        remove("commits/[345]"),
        "Check that the sink holds batches 3 to 4, then restore the commit entries. To load what "
        "is missing, use a bounded job.",
    ),
    "reread": (
        rewrite("offsets/5", on_line(2, "-")),
        f"Restore offsets/5 with the line of every source. If there is no backup, {RESET}",
    ),
    "orphaned-commit": (
        remove("commits/5", sidecars=False),
        "Check that no query runs, then run `holdfast plan resume memory://memory -o plan.json`: "
        "it takes the `.crc` file of the missing commit entry away. Spark runs the batch once "
        "more: if the sink does not recognise it, remove its rows first.",
    ),
    "offsets-deleted": (
        remove("offsets/5"),
        "Stop the restarts, and restore the offset entries that were deleted. If there is no "
        f"backup, {RESET}",
    ),
    "never-ran": (
        remove("offsets", "commits", "state", "sources"),
        "Nothing, if the query has never run. Start it.",
    ),
}


@pytest.mark.parametrize(("damage", "sentence"), SAID.values(), ids=SAID)
def test_the_action_fits_the_outcome(damage: Damage, sentence: str) -> None:
    assert advise(inspected(damaged(COUNTS, damage)).judgement) == sentence


CHECKED: dict[str, tuple[MemoryStorage, ExitCode]] = {
    "clean": (damaged(COUNTS), ExitCode.DONE),
    "clean-without-state": (damaged("4.2-kafka"), ExitCode.DONE),
    "metadata-damaged": (MemoryStorage({"metadata": b"{}"}), ExitCode.FOUND),
    "pending": (damaged(COUNTS, remove("commits/5")), ExitCode.FOUND),
    "skipped": (damaged(COUNTS, remove("commits/[45]")), ExitCode.FOUND),
    "reread": (damaged(COUNTS, rewrite("offsets/5", on_line(2, "-"))), ExitCode.FOUND),
    "offsets-deleted": (damaged(COUNTS, remove("offsets/5")), ExitCode.FOUND),
    "commit-blocked": (damaged(COUNTS, write("commits/.6.crc", b"crc\0")), ExitCode.FOUND),
    "state-missing": (damaged(*DAMAGES["HF419"]), ExitCode.FOUND),
    "refused": (damaged(*DAMAGES["HF203"]), ExitCode.FOUND),
    "continuous": (damaged("4.2-continuous"), ExitCode.FOUND),
    "unread": (Forbidden(damaged(COUNTS).files, "sources/0/4"), ExitCode.FOUND),
    "state-deleted": (damaged(COUNTS, remove("state")), ExitCode.FOUND),
    "nothing": (MemoryStorage(), ExitCode.FOUND),
}


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("storage", "code"), CHECKED.values(), ids=CHECKED)
def test_check_lets_only_a_safe_start_pass(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    storage: MemoryStorage,
    code: ExitCode,
    form: str,
) -> None:
    monkeypatch.setattr("holdfast.bundle.open.open_reader", lambda *_: storage)
    with pytest.raises(SystemExit) as exited:
        run(["inspect", "checkpoint", "--check", "--format", form])
    assert exited.value.code == code
    out = capsys.readouterr().out
    passes = code is ExitCode.DONE
    if form == "text":
        last = out.splitlines()[-1]
        assert last == "Check passed." if passes else last.startswith("Check failed: ")
    else:
        assert f'"passes_check": {str(passes).lower()}' in out


def test_a_query_that_never_ran_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = damaged(COUNTS).files["metadata"]
    storage = MemoryStorage({"metadata": metadata})
    monkeypatch.setattr("holdfast.bundle.open.open_reader", lambda *_: storage)
    with pytest.raises(SystemExit) as exited:
        run(["inspect", "checkpoint", "--check"])
    assert exited.value.code == ExitCode.DONE


def test_older_versions_that_would_begin_again_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without offsets Spark 4.0 begins with batch 0, whatever the sink holds."""
    storage = damaged("4.0-aggregation", remove("offsets"))
    monkeypatch.setattr("holdfast.bundle.open.open_reader", lambda *_: storage)
    with pytest.raises(SystemExit) as exited:
        run(["inspect", "checkpoint", "--check", "--spark", "4.0"])
    assert exited.value.code == ExitCode.FOUND


def test_a_checkpoint_that_is_gone_is_not_to_be_started_when_the_record_says_that_it_ran() -> None:
    judged = inspected(MemoryStorage()).judgement
    assert advise(judged).startswith("Check the path.")
    has_run = SimpleNamespace(stream="readings", run=object(), is_replaced=False)
    said = advise(replace(judged, case=replace(judged.case, record=cast("GuardRecord", has_run))))
    assert said.startswith("Restore the checkpoint from a backup: readings has run")
    assert "start it" not in said
