"""Contracts of version 2: what they know more, what is refused, and those of version 1."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from holdfast.record.contracts import (
    Contract,
    SinkContract,
    contract_before,
    keep_contract,
    read_contract,
    tell_changes,
)
from holdfast.record.documents import RecordError, encode
from holdfast.record.generations import Generation, open_generation
from holdfast.record.runs import Run, write_run
from holdfast.storage.memory import MemoryStorage

GOLD = SinkContract(
    kind="delta",
    place="s3://lake/gold/latest",
    label="gold",
    keys=("sensor_id",),
    sequence_by="event_time",
)
LATEST = SinkContract(
    kind="postgres",
    place="postgresql://db.acme:5432/serving/public.latest",
    label="latest",
    keys=("sensor_id",),
    sequence_by="event_time",
    secret="env:SERVING_DSN",
)
CONTRACT = Contract(
    sources=("kafka sensors",),
    sinks=("gold", "latest", "a function"),
    output_mode="update",
    operators=("stateStoreSave",),
    state_provider="HDFSBackedStateStoreProvider",
    spark="4.2.0",
    source_options=({"subscribe": "sensors", "startingOffsets": "earliest"},),
    sink_places=(GOLD, LATEST),
    operator_keys=("struct<sensor_id:string>",),
    settings={"spark.sql.shuffle.partitions": "200"},
)
OLD: dict[str, Any] = {
    "format": "holdfast.contract",
    "version": 1,
    "sources": ["kafka sensors"],
    "sinks": ["gold", "latest", "a function"],
    "output_mode": "update",
    "operators": ["stateStoreSave"],
    "state_provider": "HDFSBackedStateStoreProvider",
}
OLD_DIGEST = "a16370b7bc18dd17"
"""As the Holdfast of version 1 named it."""


def changed(**changes: Any) -> Contract:
    return msgspec.structs.replace(CONTRACT, **changes)


def planted(content: dict[str, Any], digest: str) -> MemoryStorage:
    return MemoryStorage({f"contracts/{digest}.json": json.dumps(content).encode()})


def old() -> Contract:
    found = read_contract(planted(OLD, OLD_DIGEST), OLD_DIGEST)
    assert found is not None
    return found


def test_from_a_record_alone_every_ledger_can_be_found() -> None:
    record = MemoryStorage()
    keep_contract(record, CONTRACT)
    run = Run(
        epoch=7,
        run_id="6f0c0000-0000-4000-8000-000000000000",
        generation=1,
        contract=CONTRACT.digest,
        spark="4.2",
        started_at="2026-11-15T06:00:00+00:00",
        first_batch=3,
    )
    write_run(record, run)
    found = contract_before(record, epoch=8)
    assert found == CONTRACT
    assert found.sink_places == (GOLD, LATEST)
    assert found.sink_places[1].secret == "env:SERVING_DSN"


def test_a_contract_of_version_1_is_read_under_the_name_that_it_had() -> None:
    found = old()
    assert (found.version, found.digest) == (1, OLD_DIGEST)
    assert (found.sink_places, found.settings, found.spark) == ((), {}, "")


def test_a_contract_of_version_2_is_read_under_the_name_that_it_had() -> None:
    content = {**OLD, "version": 2, "spark": "4.2.0", "settings": {"a": "b"}}
    found = read_contract(planted(content, "495cc75326043acc"), "495cc75326043acc")
    assert found is not None
    assert (found.version, found.watermarks, found.operator_parts) == (2, (), ())
    assert tell_changes(found, changed(watermarks=("t 1 minutes",), settings={})) == ()


def test_an_upgrade_of_holdfast_changes_no_query() -> None:
    assert tell_changes(old(), CONTRACT) == ()
    assert tell_changes(CONTRACT, old()) == ()


def test_what_both_versions_know_is_compared() -> None:
    assert tell_changes(old(), changed(output_mode="append")) == (
        "its output mode changed from update to append",
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"spark": "4.3.0"}, "its Spark version changed from 4.2.0 to 4.3.0"),
        (
            {"settings": {"spark.sql.shuffle.partitions": "50"}},
            "its setting spark.sql.shuffle.partitions changed from 200 to 50",
        ),
        (
            {"operator_keys": ("struct<sensor_id:int>",)},
            "the key of its operator 0 (stateStoreSave) changed from struct<sensor_id:string> to "
            "struct<sensor_id:int>",
        ),
        (
            {"operator_keys": (None,)},
            "the key of its operator 0 (stateStoreSave) changed from struct<sensor_id:string> to "
            "none",
        ),
        (
            {"source_options": ({"subscribe": "sensors", "maxOffsetsPerTrigger": "10"},)},
            "the options of its source 0 (kafka sensors) changed from startingOffsets=earliest, "
            "subscribe=sensors to maxOffsetsPerTrigger=10, subscribe=sensors",
        ),
        (
            {"sink_places": (GOLD, msgspec.structs.replace(LATEST, secret="env:OTHER_DSN"))},
            "the secret's name of its sink latest changed from env:SERVING_DSN to env:OTHER_DSN",
        ),
        (
            {"sink_places": (msgspec.structs.replace(GOLD, keys=("a", "b")), LATEST)},
            "the keys of its sink gold changed from sensor_id to a, b",
        ),
        (
            {"sink_places": (msgspec.structs.replace(GOLD, sequence_by=None), LATEST)},
            "the order column of its sink gold changed from event_time to none",
        ),
    ],
)
def test_what_changed_is_told_by_name(changes: dict[str, Any], told: str) -> None:
    assert tell_changes(CONTRACT, changed(**changes)) == (told,)


def test_what_one_of_the_two_does_not_know_has_not_changed() -> None:
    assert tell_changes(CONTRACT, changed(sink_places=(), settings={}, operator_keys=())) == ()
    assert tell_changes(CONTRACT, changed(settings={"spark.sql.other": "1"})) == ()


def test_the_same_contract_is_the_same_file_in_whatever_order_it_was_collected() -> None:
    reordered = changed(source_options=({"startingOffsets": "earliest", "subscribe": "sensors"},))
    assert reordered.digest == CONTRACT.digest
    for other in (changed(spark="4.3.0"), changed(sink_places=(GOLD,)), changed(settings={})):
        assert other.digest != CONTRACT.digest


@pytest.mark.parametrize("secret", ["hunter2", "postgresql://u:p@h/d", "env:A B", "env:A\x1b"])
def test_a_secret_is_written_down_by_its_name_or_not_at_all(
    secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    record = MemoryStorage()
    keep_contract(record, changed(sink_places=(msgspec.structs.replace(LATEST, secret=secret),)))
    assert record.files == {}
    assert "the contract was not written" in caplog.text
    assert secret not in caplog.text


@pytest.mark.parametrize("place", ["s3://KEY:SECRET@lake/gold", "postgresql://u:p@h/d?password=x"])
def test_a_place_with_credentials_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="credentials") as refused:
        SinkContract(kind="delta", place=place, label="gold")
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"sink_places": [{"kind": "delta", "place": "s3://k:s@lake/x", "label": "gold"}]},
        {"sink_places": [{"kind": "Delta!", "place": "s3://lake/x", "label": "gold"}]},
        {"sink_places": [{"kind": "delta", "place": "", "label": "gold"}]},
        {"sink_places": [{"kind": "delta", "place": "/a\x1b[31m", "label": "gold"}]},
        {"sink_places": [{"kind": "delta", "place": "/a", "label": "none of its sinks"}]},
        {"sink_places": 2 * [{"kind": "delta", "place": "/a", "label": "gold"}]},
        {"sink_places": [{"kind": "delta", "place": "/a", "label": "gold", "secret": "hunter2"}]},
        {"sink_places": [{"kind": "delta", "place": "/a", "label": "gold", "secret": "env:"}]},
        {"sink_places": [{"kind": "delta", "place": "/a", "label": "gold", "secret": "file:"}]},
        {"sink_places": {"gold": "/a"}},
        {"source_options": [{}, {}]},
        {"source_options": [{"subscribe": 7}]},
        {"operator_keys": ["a", "b"]},
        {"settings": {"x" * 300: "1"}},
        {"settings": {f"s{number}": "1" for number in range(1_001)}},
        {"settings": {"a": "x" * (1 << 17)}},
        {"spark": "4.2\x1b[31m"},
        {"version": 1, "spark": "4.2.0"},
        {"version": 2, "watermarks": ["t 1 minutes"]},
        {"operator_parts": [["sum(x)"], ["sum(y)"]]},
        {"version": 3, "reset": "forbidden"},
        {"version": 4, "operator_not_null": [["default key 0"]]},
        {"version": 6},
    ],
)
def test_a_forged_contract_is_refused_and_the_start_goes_on(changes: dict[str, Any]) -> None:
    content = json.loads(encode(CONTRACT)) | changes
    record = planted(content, CONTRACT.digest)
    with pytest.raises(RecordError):
        read_contract(record, CONTRACT.digest)


def test_a_field_of_a_later_holdfast_is_ignored() -> None:
    content = json.loads(encode(CONTRACT)) | {"owner": "team"}
    record = planted(content, CONTRACT.digest)
    assert read_contract(record, CONTRACT.digest) == CONTRACT


def test_a_run_that_an_undo_has_left_is_not_what_a_query_has_to_fit() -> None:
    record = MemoryStorage({})
    kept = {}
    for number, (place, why) in enumerate((("a", "opened"), ("a.g2", "reset"), ("a", "undone")), 1):
        generation = Generation(
            number=number,
            checkpoint=f"file:/{place}",
            query_id="0e37df36-f698-11e6-8dd4-cb9ced3df976",
            first_batch=0,
            why=why,
            opened_at="2026-11-17T00:00:00+00:00",
        )
        open_generation(record, generation)
        kept[number] = generation
    contracts = [
        msgspec.structs.replace(CONTRACT, output_mode=each) for each in ("append", "update")
    ]
    for number, contract in enumerate(contracts, start=1):
        keep_contract(record, contract)
        run = Run(
            epoch=number,
            run_id=f"0e37df36-f698-11e6-8dd4-cb9ced3df97{number}",
            generation=number,
            contract=contract.digest,
            spark="4.2",
            started_at="2026-11-17T00:00:00+00:00",
            first_batch=0,
        )
        write_run(record, run)
    assert contract_before(record, epoch=3, generation=kept[2]) == contracts[1]
    assert contract_before(record, epoch=3, generation=kept[3]) == contracts[0]
