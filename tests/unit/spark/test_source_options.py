"""Of a source's options only those of the allow-list are kept, without credentials."""

from __future__ import annotations

import pytest

from holdfast.record.bounds import MAX_TEXT
from holdfast.spark.source_options import keep_options


def test_what_says_what_is_read_is_kept_under_sparks_name_for_it() -> None:
    given = [("SUBSCRIBE", "sensors"), ("startingoffsets", "earliest"), ("maxFilesPerTrigger", "1")]
    given += [("kafka.isolation.level", "read_committed")]
    assert keep_options(given) == {
        "kafka.isolation.level": "read_committed",
        "subscribe": "sensors",
        "startingOffsets": "earliest",
        "maxFilesPerTrigger": "1",
    }


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.jaas.config",
        "kafka.ssl.key.password",
        "kafka.ssl.truststore.location",
        "password",
        "header",
        "eventhubs.connectionString",
        "cloudFiles.clientSecret",
        "fs.s3a.secret.key",
    ],
)
def test_what_is_not_on_the_list_is_left_out(name: str) -> None:
    assert keep_options([(name, "hunter2")]) == {}


def test_credentials_in_a_place_are_taken_out() -> None:
    given = [
        ("path", "s3a://KEY:hunter2@lake/in?sig=hunter2"),
        ("kafka.bootstrap.servers", "SASL://u:hunter2@broker:9092,broker-2:9092"),
    ]
    kept = keep_options(given)
    assert kept["path"] == "s3a://***@lake/in?***"
    assert "hunter2" not in str(kept)


def test_a_value_too_long_for_a_contract_is_left_out() -> None:
    assert keep_options([("assign", "x" * (MAX_TEXT + 1)), ("startingVersion", "7")]) == {
        "startingVersion": "7"
    }
