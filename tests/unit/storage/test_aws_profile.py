"""AWS profiles that need more than keys, with the real boto3 and without a network."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from obstore.store import S3Store

from holdfast.errors import ConfigError, MissingExtraError, ReadError
from holdfast.storage import open_reader
from holdfast.storage.aws_profile import credential_provider, read_profile
from holdfast.storage.location import parse_location
from holdfast.storage.object_clients import store_options

CONFIG = """
[profile base]
aws_access_key_id = base
aws_secret_access_key = base-secret
[profile role]
role_arn = arn:aws:iam::123456789012:role/reader
source_profile = base
region = eu-west-1
[profile keys-and-role]
aws_access_key_id = unused
aws_secret_access_key = unused
role_arn = arn:aws:iam::123456789012:role/reader
source_profile = base
[profile sso]
sso_session = company
sso_account_id = 123456789012
sso_role_name = reader
region = eu-west-1
[sso-session company]
sso_start_url = https://company.awsapps.com/start
sso_region = eu-west-1
[profile program]
credential_process = {python} -c "print('{{\\"Version\\": 1, \\"AccessKeyId\\": \\"made\\", \\"SecretAccessKey\\": \\"by a program\\"}}')"
[profile nowhere]
role_arn = arn:aws:iam::123456789012:role/reader
source_profile = not-there
[profile keys-and-program]
credential_process = false
"""  # noqa: E501
CREDENTIALS = """
[keys-and-program]
aws_access_key_id = key
aws_secret_access_key = secret
"""
LAKE = parse_location("s3://lake/streams")


class Asked(Exception):  # noqa: N818 - not an error of ours
    """Somebody asked the network."""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an AWS configuration that is the only one, and a machine without a network."""

    def refuse(*_: Any, **__: Any) -> None:
        raise Asked

    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/config").write_text(CONFIG.format(python=sys.executable))
    (tmp_path / ".aws/credentials").write_text(CREDENTIALS)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("profile", "needs"),
    [
        ("base", None),
        ("role", "assumes a role"),
        ("keys-and-role", "assumes a role"),
        ("sso", "signs in with SSO"),
        ("program", "calls a program for its credentials"),
        ("keys-and-program", None),
        ("not-there", None),
    ],
)
def test_what_a_profile_needs_is_what_boto3_would_do(profile: str, needs: str | None) -> None:
    import boto3  # noqa: PLC0415

    assert read_profile({"HOME": str(Path.home()), "AWS_PROFILE": profile}).needs == needs
    if profile != "not-there":
        found = boto3.Session(profile_name=profile).get_credentials()
        assert found is not None
        assert (found.method in {"config-file", "shared-credentials-file"}) == (needs is None)


@pytest.mark.parametrize("profile", ["role", "sso"])
def test_boto3_is_asked_for_the_credentials_when_a_request_is_made_and_not_before(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", profile)
    options = store_options(LAKE, None)
    assert options.keys() == {"region", "credential_provider"}
    assert options["region"] == "eu-west-1"
    assert S3Store("lake", **options).credential_provider is options["credential_provider"]


def test_credentials_that_a_program_makes_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "program")
    made = store_options(LAKE, None)["credential_provider"]()
    assert (made["access_key_id"], made["secret_access_key"]) == ("made", "by a program")


def test_who_is_not_signed_in_gets_a_read_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "sso")
    with pytest.raises(ReadError) as raised:
        open_reader("s3://lake/streams").list()
    assert raised.value.why.endswith("SSOTokenLoadError.")


def test_a_profile_that_boto3_does_not_accept_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nowhere")
    with pytest.raises(ConfigError) as raised:
        open_reader("s3://lake/streams")
    assert "'nowhere', which assumes a role: InvalidConfigError." in raised.value.why


@pytest.mark.parametrize(("profile", "word"), [("role", "assumes a role"), ("sso", "SSO")])
def test_without_boto3_the_profile_the_reason_and_the_extra_are_named(
    profile: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", profile)
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingExtraError) as raised:
        open_reader("s3://lake/streams")
    assert repr(profile) in raised.value.what
    assert word in raised.value.what
    assert (raised.value.module, raised.value.extra) == ("boto3", "aws")


def test_without_boto3_keys_of_a_profile_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "base")
    monkeypatch.setitem(sys.modules, "boto3", None)
    expected = {"access_key_id": "base", "secret_access_key": "base-secret"}
    assert store_options(LAKE, None) == expected


def test_keys_that_are_given_win_over_a_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "role")
    monkeypatch.setitem(sys.modules, "boto3", None)
    given = {"access_key_id": "given", "secret_access_key": "given"}
    assert store_options(LAKE, given) == {"region": "eu-west-1", **given}


def test_credentials_are_renewed_before_they_expire() -> None:
    from botocore.credentials import RefreshableCredentials  # noqa: PLC0415

    profile = read_profile({"HOME": str(Path.home()), "AWS_PROFILE": "role"})
    provider = credential_provider(profile)
    renewed = RefreshableCredentials._mandatory_refresh_timeout
    assert provider.ttl.total_seconds() <= renewed
