"""What is sent to the process of the batches, and who owns the lease there."""

from __future__ import annotations

import os
import pickle
import subprocess
from typing import Any

import msgspec
import pytest

from holdfast.errors import HoldfastError
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import Coverage
from holdfast.ledger.row import Binding
from holdfast.record.contracts import SinkContract
from holdfast.record.leases import Lease, read_lease, take_lease
from holdfast.record.owner import Owner, this_process
from holdfast.spark.connect.session import ServerBusyError, ServerLacksError, read_start_error
from holdfast.spark.plans import Untold
from holdfast.storage.memory import MemoryStorage
from holdfast.streams import far_end
from holdfast.streams.batches import find_strange
from holdfast.streams.far_end import FarEndError, FarRenewer
from holdfast.streams.far_look import Looked, read_answer
from holdfast.streams.handed_over import HandedOver
from holdfast.streams.sending import SentWriter
from holdfast.streams.sent import Sent
from holdfast.version import __version__

CLIENT = Owner(host="laptop", pid=7)


def sent_of(lease: Lease) -> Sent:
    return Sent(
        version=__version__,
        stream="readings",
        generation=1,
        binding=Binding(query_id=QueryId("6f0c"), checkpoint="/srv/streams/readings"),
        record="/srv/streams/_holdfast/readings",
        checkpoint="/srv/streams/readings",
        sinks=(
            SinkContract(
                kind="postgres",
                place="postgresql:readings@env:DSN",
                label="readings",
                secret="env:DSN",
            ),
        ),
        output_mode="append",
        lease=lease,
        first_batch=0,
    )


@pytest.fixture
def record() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def lease(record: MemoryStorage) -> Lease:
    return take_lease(record, CLIENT)


@pytest.fixture
def renewer(record: MemoryStorage, lease: Lease) -> FarRenewer:
    spark: Any = None
    return FarRenewer(record, sent_of(lease), spark)


def test_names_are_sent_and_no_value_of_a_secret(
    lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSN", "postgresql://holdfast:hunter2@db/readings")
    kind, (content,) = SentWriter(sent_of(lease)).__reduce__()
    assert kind is far_end.receive
    assert b"hunter2" not in pickle.dumps(SentWriter(sent_of(lease)))
    assert msgspec.json.decode(content, type=Sent) == sent_of(lease)


def test_the_owner_is_the_process_of_the_batches(
    record: MemoryStorage, lease: Lease, renewer: FarRenewer
) -> None:
    renewer._renew()
    found = read_lease(record, lease.epoch)
    assert found is not None
    assert (found.owner, found.token) == (this_process(), lease.token)


def test_an_orphan_holds_nothing(renewer: FarRenewer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert renewer.holds()
    monkeypatch.setattr(os, "getppid", os.getpid)  # another than before
    assert not renewer.holds()


def test_a_server_that_was_killed_and_is_not_gone_yet_holds_nothing(
    renewer: FarRenewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory is given back first; until then it is still the parent."""
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # a zombie until it is waited for
        monkeypatch.setattr(renewer, "_parent", ended.pid)
        monkeypatch.setattr(os, "getppid", lambda: ended.pid)
        assert not renewer.holds()


def test_who_was_replaced_before_it_began_is_refused(
    record: MemoryStorage, lease: Lease, renewer: FarRenewer
) -> None:
    take_lease(record, CLIENT, takeover=True, after=lease.epoch)
    with pytest.raises(FarEndError, match="has taken the stream over"):
        renewer.begin()


def test_a_client_that_has_handed_over_writes_no_heartbeat(
    record: MemoryStorage, lease: Lease, renewer: FarRenewer
) -> None:
    client = HandedOver(record, lease, ())
    client.hand_over()
    renewer._renew()
    client._renew()
    found = read_lease(record, lease.epoch)
    assert found is not None
    assert found.owner == this_process()
    assert client.holds()


def test_a_client_releases_the_lease_of_a_query_that_has_ended(
    record: MemoryStorage, lease: Lease, renewer: FarRenewer
) -> None:
    client = HandedOver(record, lease, ())
    client.hand_over()
    renewer._renew()
    client.abandon()
    found = read_lease(record, lease.epoch)
    assert found is not None
    assert (found.released, found.owner) == (True, this_process())


def test_a_client_does_not_release_what_another_driver_has(
    record: MemoryStorage, lease: Lease
) -> None:
    client = HandedOver(record, lease, ())
    client.hand_over()
    take_lease(record, CLIENT, takeover=True, after=lease.epoch)
    client.abandon()
    found = read_lease(record, lease.epoch)
    assert found is not None
    assert not found.released
    assert client.is_lost


def covered(batch: int) -> Coverage:
    return Coverage(
        batch_id=BatchId(batch), start_offsets='{"0":7}', end_offsets='{"0":9}', digest="d"
    )


@pytest.mark.parametrize(
    ("running", "strange"),
    [
        ({"9"}, None),
        ({"8"}, 3),
        (None, 3),
        (Untold(last_batch=2, end_offsets=("7",)), None),
        (Untold(last_batch=2, end_offsets=("8",)), 2),
        (Untold(last_batch=None, end_offsets=()), None),
        (Untold(last_batch=1, end_offsets=("5",)), None),
    ],
)
def test_offsets_that_the_query_has_not_planned_are_found(
    running: set[str] | Untold | None, strange: int | None
) -> None:
    assert find_strange(running, covered(3)) == strange


class Looks:
    """What the worker asks of Spark between batches; the second time there is an answer."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, batch_id: int) -> bool:
        self.batches.append(batch_id)
        if len(self.batches) == 3:
            raise CannotLookError(what="", why="", how="")
        return len(self.batches) > 1


class CannotLookError(HoldfastError):
    """A ledger does not answer."""

    code = "CANNOT_LOOK"


def test_each_batch_is_compared_once_with_what_spark_has_read(renewer: FarRenewer) -> None:
    renewer.look = looks = Looks()
    renewer._look_between()
    assert looks.batches == []  # there is none yet
    renewer.last_batch = BatchId(4)
    for _ in range(3):
        renewer._look_between()
    assert looks.batches == [4, 4]
    renewer.last_batch = BatchId(5)
    for _ in range(3):
        renewer._look_between()  # the first cannot be answered
    assert looks.batches == [4, 4, 5, 5]


def test_nothing_is_compared_while_a_batch_is_written(renewer: FarRenewer) -> None:
    renewer.look = looks = Looks()
    renewer.last_batch = BatchId(4)
    with renewer.writing():
        renewer._look_between()
    assert looks.batches == []
    renewer._look_between()
    assert looks.batches == [4]
    assert not renewer.writing().locked()


def test_what_the_server_lacks_is_named() -> None:
    failed = "[STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE] … "
    told = read_start_error(Exception(f"{failed}ModuleNotFoundError: No module named 'holdfast'"))
    assert isinstance(told, ServerLacksError)
    assert "no module holdfast" in told.why
    far = FarEndError("It is another database.", "Its ledger has another epoch.", "Change it.")
    told = read_start_error(Exception(f"{failed}Traceback …\n{far}\n"))
    assert isinstance(told, ServerLacksError)
    assert "another epoch" in told.why
    assert told.how == "Change it."
    assert read_start_error(Exception("[TABLE_OR_VIEW_NOT_FOUND]")) is None


def test_a_server_that_is_too_slow_can_be_tried_again() -> None:
    told = read_start_error(Exception("Python worker failed to connect back.\n\nJVM stacktrace:"))
    assert isinstance(told, ServerBusyError)
    assert told.retryable


def test_an_answer_is_found_in_the_text_of_an_error() -> None:
    found = Looked(python="3.11.2", holdfast="0.1", pyspark="4.2.0", modules=("psycopg",))
    said = msgspec.json.encode(found).decode()
    text = f"Traceback\nAnsweredError: holdfast-look:{said}:holdfast-look"
    assert read_answer(text) == found
    assert read_answer("No module named 'holdfast'") == "The server's Python has no module holdfast"
    assert read_answer("holdfast-look:{}:holdfast-look") != found
    assert read_answer("") == "The server has said nothing"
