"""One settings file for the pipeline; what it does not know is said by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.sensors.settings import Sensors, load_settings
from holdfast.spark_versions import DELTA_PACKAGES, DELTA_SESSION, SUPPORTED
from tests.house.repository import ROOT

SHIPPED = ROOT / "examples/sensors/sensors.toml"


def test_the_shipped_file_is_complete() -> None:
    assert load_settings(SHIPPED) == Sensors(
        bootstrap="broker-1:9092,broker-2:9092",
        topic="sensors",
        lake="s3a://lake/sensors",
        checkpoints="s3a://lake/sensors/checkpoints",
        postgres="file:/run/secrets/sensors-dsn",
        messages_per_batch=100_000,
        trigger="10 seconds",
    )


def test_without_postgres_delta_alone_is_written(tmp_path: Path) -> None:
    file = tmp_path / "sensors.toml"
    file.write_text('topic = "t"\nfiles = "/in"\nroot = "/lake/"\n')
    found = load_settings(file)
    assert (found.postgres, found.lake, found.files) == ("", "/lake", "/in")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('root = "/lake"\nfiles = "/in"', "topic is missing"),
        ('topic = "t"\nfiles = "/in"', "root is missing"),
        ('topic = "t"\nroot = "/lake"', "one of bootstrap and files must be set"),
        ('topic = "t"\nroot = "/l"\nfiles = "/in"\nbootsrap = "b"', "bootsrap is no setting"),
    ],
)
def test_a_setting_that_is_missing_or_unknown_is_named(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "sensors.toml"
    file.write_text(text)
    with pytest.raises(SystemExit, match=said):
        load_settings(file)


def test_the_script_for_a_cluster_names_the_jars_that_are_tested() -> None:
    script = (ROOT / "examples/sensors/submit.sh").read_text()
    newest = max(DELTA_PACKAGES)
    kafka = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SUPPORTED[newest].release}"
    assert f"${{PACKAGES-{DELTA_PACKAGES[newest]},{kafka}}}" in script
    for name, value in DELTA_SESSION.items():
        assert f"--conf {name}={value} " in script
