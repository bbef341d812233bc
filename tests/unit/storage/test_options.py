from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ConfigError
from holdfast.storage.location import parse_location
from holdfast.storage.object_clients import store_options
from holdfast.storage.options import from_environment, from_hadoop, parse_options


def test_options_by_hand_are_key_and_value() -> None:
    given = ["AWS_ENDPOINT=http://127.0.0.1:9000", "region=eu-west-1", "token=a=b"]
    assert parse_options(given) == {
        "endpoint": "http://127.0.0.1:9000",
        "region": "eu-west-1",
        "token": "a=b",
    }


@pytest.mark.parametrize("text", ["endpoint", "=x", ""])
def test_an_option_without_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_options([text])


def test_a_spark_sessions_settings_are_understood_and_the_buckets_own_win() -> None:
    settings = {
        "spark.hadoop.fs.s3a.access.key": "all",
        "spark.hadoop.fs.s3a.secret.key": "secret",
        "spark.hadoop.fs.s3a.endpoint": "minio.local:9000",
        "spark.hadoop.fs.s3a.bucket.lake.access.key": "lake",
        "fs.s3a.endpoint.region": "eu-west-1",
    }
    assert from_hadoop(settings, bucket="lake") == {
        "access_key_id": "lake",
        "secret_access_key": "secret",
        "endpoint": "https://minio.local:9000",
        "region": "eu-west-1",
    }
    assert from_hadoop(settings, bucket="other")["access_key_id"] == "all"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = d\naws_secret_access_key = ds\n"
        "[ops]\naws_access_key_id = o\naws_secret_access_key = o%s\n"
    )
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = eu-west-1\n[profile ops]\nregion = eu-north-1\n"
    )
    return tmp_path


def test_the_default_profile_is_used_when_the_environment_has_no_keys(home: Path) -> None:
    assert from_environment({"HOME": str(home)}, given={}) == {
        "access_key_id": "d",
        "secret_access_key": "ds",
        "region": "eu-west-1",
    }


def test_a_named_profile_is_used(home: Path) -> None:
    found = from_environment({"HOME": str(home), "AWS_PROFILE": "ops"}, given={})
    assert found == {"access_key_id": "o", "secret_access_key": "o%s", "region": "eu-north-1"}


def test_a_key_that_is_given_is_never_joined_with_the_token_of_a_profile(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (home / ".aws" / "credentials").open("a") as file:
        file.write("[temporary]\naws_access_key_id = t\naws_session_token = tt\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AWS_PROFILE", "temporary")
    given = {"access_key_id": "spark", "secret_access_key": "s"}
    assert store_options(parse_location("s3://lake"), given) == given


def test_keys_in_the_environment_win_over_a_profile(home: Path) -> None:
    assert from_environment({"HOME": str(home), "AWS_ACCESS_KEY_ID": "e"}, given={}) == {}


def test_an_endpoint_in_the_environment_is_passed_on_so_that_plain_http_is_noticed() -> None:
    environment = {"AWS_ACCESS_KEY_ID": "e", "AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}
    assert from_environment(environment, given={}) == {"endpoint": "http://127.0.0.1:9000"}


def test_a_broken_aws_file_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("no section here\n")
    with pytest.raises(ConfigError) as raised:
        from_environment({"AWS_SHARED_CREDENTIALS_FILE": str(file)}, given={})
    assert str(file) in raised.value.why


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "e")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://environment")
    place = parse_location("s3://lake")
    assert store_options(place, {"endpoint": "http://given"}) == {"endpoint": "http://given"}
