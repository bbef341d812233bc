"""Acceptances, contracts and runs: files of the record, made once or by their owner alone."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.record.acceptances import Acceptance, newest_acceptance, nonce_of, use_up
from holdfast.record.contracts import (
    Contract,
    contract_before,
    keep_contract,
    read_contract,
    tell_changes,
)
from holdfast.record.documents import LARGEST_BYTES
from holdfast.record.runs import Run, newest_run, write_run
from holdfast.storage.memory import MemoryStorage

NOW = "2026-11-15T06:00:00+00:00"
CONTRACT = Contract(
    sources=("kafka sensors",),
    sinks=("readings",),
    output_mode="append",
    operators=(),
    state_provider="",
)
RUN = Run(
    epoch=7,
    run_id="6f0c0000-0000-4000-8000-000000000000",
    generation=1,
    contract=CONTRACT.digest,
    spark="4.2.0",
    started_at="2026-11-15T06:00:00+00:00",
    first_batch=3,
)


def test_a_nonce_stands_for_what_was_found_and_for_what_was_accepted_before() -> None:
    nonces = {
        nonce_of("HF604", "batch 57", before=0),
        nonce_of("HF604", "batch 57", before=1),
        nonce_of("HF604", "batch 58", before=0),
        nonce_of("HF603", "batch 57", before=0),
    }
    assert len(nonces) == 4
    assert all(len(nonce) == 4 for nonce in nonces)


def test_an_acceptance_is_used_up_by_one() -> None:
    record = MemoryStorage({})
    first = Acceptance(number=1, code="HF604", what="batch 57", epoch=7, accepted_at=NOW)
    other = Acceptance(number=1, code="HF604", what="batch 57", epoch=8, accepted_at=NOW)
    assert newest_acceptance(record) == 0
    assert use_up(record, first)
    assert use_up(record, first), "a lost answer is told apart from another's acceptance"
    assert not use_up(record, other)
    assert newest_acceptance(record) == 1


def test_the_same_contract_is_the_same_file() -> None:
    record = MemoryStorage({})
    keep_contract(record, CONTRACT)
    keep_contract(record, CONTRACT)
    assert len(record.list("contracts").files) == 1
    assert read_contract(record, CONTRACT.digest) == CONTRACT
    assert read_contract(record, "0" * 16) is None


def test_changes_are_told_by_name() -> None:
    changed = Contract(
        sources=("kafka sensors", "rate"),
        sinks=("readings",),
        output_mode="update",
        operators=("dedupe",),
        state_provider="",
    )
    assert tell_changes(CONTRACT, CONTRACT) == ()
    assert tell_changes(CONTRACT, changed) == (
        "its sources changed from kafka sensors to kafka sensors, rate",
        "its output mode changed from append to update",
        "its operators with state changed from none to dedupe",
    )


def test_the_newest_run_is_of_the_highest_epoch() -> None:
    record = MemoryStorage({"runs/notes.txt": b""})
    assert newest_run(record) is None
    for epoch in (9, 10, 8):
        fields = {field: getattr(RUN, field) for field in RUN.__struct_fields__}
        write_run(record, Run(**{**fields, "epoch": epoch}))
    found = newest_run(record)
    assert found is not None
    assert (found.epoch, found.contract) == (10, CONTRACT.digest)


def test_what_a_forged_contract_says_is_escaped_when_it_is_told() -> None:
    forged = msgspec.structs.replace(CONTRACT, sinks=("evil\x1b[31m",))
    (told,) = tell_changes(forged, CONTRACT)
    assert "\x1b" not in told
    assert r"evil\x1b[31m" in told


def test_the_contract_before_is_of_the_last_run_that_can_have_started() -> None:
    record = MemoryStorage()
    keep_contract(record, CONTRACT)
    write_run(record, RUN)
    assert contract_before(record, epoch=8) == CONTRACT
    assert contract_before(record, epoch=7) is None, "a run of this epoch was not started yet"
    forged = msgspec.structs.replace(RUN, epoch=9, contract="0" * 16)
    write_run(record, forged)
    assert contract_before(record, epoch=8) == CONTRACT


@pytest.mark.parametrize("is_run", [True, False])
def test_a_contract_that_cannot_be_read_is_unknown_and_no_older_one_is_taken(
    caplog: pytest.LogCaptureFixture, *, is_run: bool
) -> None:
    record = MemoryStorage()
    keep_contract(record, CONTRACT)
    write_run(record, msgspec.structs.replace(RUN, epoch=6))
    write_run(record, RUN)
    record.put(RUN.path if is_run else CONTRACT.path, b"{")
    assert contract_before(record, epoch=8) is None
    assert "is unknown" in caplog.text
    record.delete(CONTRACT.path)
    assert contract_before(record, epoch=8) is None


def test_a_contract_is_replaced_by_what_its_name_stands_for() -> None:
    record = MemoryStorage({CONTRACT.path: b"{"})
    keep_contract(record, CONTRACT)
    assert read_contract(record, CONTRACT.digest) == CONTRACT


def test_an_acceptance_tells_as_much_as_a_file_may_hold() -> None:
    record = MemoryStorage()
    long = Acceptance(number=1, code="HF601", what="x" * 10**6, epoch=7, accepted_at=NOW)
    assert use_up(record, long)
    assert len(record.files[long.path]) < LARGEST_BYTES
