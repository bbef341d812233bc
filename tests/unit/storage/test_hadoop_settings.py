from __future__ import annotations

import re

import pytest

from holdfast.errors import ConfigError
from holdfast.storage.hadoop_settings import check_identity, from_session
from holdfast.storage.location import parse_location

LAKE = "abfss://lake@acme.dfs.core.windows.net/streams"
LOGIN = {"tenant_id": "tenant-1", "authority_host": "https://login.example"}
SETTINGS = {
    "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:1",
    "spark.hadoop.fs.s3a.bucket.lake.endpoint": "http://127.0.0.1:2",
    "spark.hadoop.fs.azure.account.key.acme.dfs.core.windows.net": "of-acme",
    "fs.azure.account.key": "of-all",
    "fs.azure.account.oauth2.client.id": "app",
    "fs.azure.account.oauth2.client.endpoint": "https://login.example/tenant-1/oauth2/token",
    "fs.gs.auth.service.account.json.keyfile": "/run/secrets/key.json",
}


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/lake/gold", {}),
        ("hdfs://namenode/streams", {}),
        ("s3a://lake/gold", {"endpoint": "http://127.0.0.1:2"}),
        ("s3a://sea/gold", {"endpoint": "http://127.0.0.1:1"}),
        (LAKE, {"account_key": "of-acme", "client_id": "app", **LOGIN}),
        (LAKE.replace("acme", "other"), {"account_key": "of-all", "client_id": "app", **LOGIN}),
        ("gs://lake/gold", {"service_account": "/run/secrets/key.json"}),
    ],
)
def test_the_settings_of_a_session_open_its_stores(location: str, expected: dict[str, str]) -> None:
    assert from_session(SETTINGS, parse_location(location)) == expected


@pytest.mark.parametrize(
    "setting",
    [
        {"spark.hadoop.fs.azure.account.auth.type": "Custom"},
        {"fs.azure.account.auth.type.acme.dfs.core.windows.net": "CUSTOM"},
        {"fs.azure.account.auth.type": "UserboundSASWithOAuth"},
        {"fs.azure.sas.token.provider.type": "com.acme.Tokens"},
        {"fs.azure.account.oauth.provider.type": "o.a.h.RefreshTokenBasedTokenProvider"},
    ],
)
def test_tokens_that_only_the_cluster_can_give_are_refused_by_name(setting: dict[str, str]) -> None:
    """Else a client of Azure would ask the machine for an identity, and wait."""
    (name,) = (name.removeprefix("spark.hadoop.").split(".acme")[0] for name in setting)
    with pytest.raises(ConfigError, match=re.escape(name)):
        from_session(setting, parse_location(LAKE))


def test_an_emulator_is_asked_without_credentials_where_the_session_does() -> None:
    settings = {
        "spark.hadoop.fs.gs.storage.root.url": "http://127.0.0.1:9/",
        "spark.hadoop.fs.gs.auth.null.enable": "true",
        "spark.hadoop.fs.azure.abfs.endpoint": "127.0.0.1:8",
        "spark.hadoop.fs.azure.always.use.https": "false",
    }
    gs = from_session(settings, parse_location("gs://lake/gold"))
    unsigned = {"skip_signature": "true", "bearer_token": "unsigned"}
    assert gs == {"base_url": "http://127.0.0.1:9", **unsigned}
    azure = from_session(settings, parse_location(LAKE))
    assert azure == {"endpoint": "http://127.0.0.1:8/acme"}


@pytest.mark.parametrize(
    "endpoint", ["", "not a url", "https://login.example", "https://login.example/"]
)
def test_a_login_address_that_names_no_tenant_is_left_out(endpoint: str) -> None:
    settings = {"fs.azure.account.oauth2.client.endpoint": endpoint}
    assert from_session(settings, parse_location(LAKE)).get("tenant_id", "") == ""


def test_an_endpoint_is_asked_over_tls_unless_the_session_says_otherwise() -> None:
    settings = {"fs.azure.abfs.endpoint": "https://proxy.acme:8443"}
    assert from_session(settings, parse_location(LAKE)) == {
        "endpoint": "https://proxy.acme:8443/acme"
    }


@pytest.mark.parametrize(
    "name",
    [
        "fs.azure.sas.lake.acme.blob.core.windows.net",
        "fs.azure.sas.fixed.token.lake.acme.dfs.core.windows.net",
        "fs.azure.sas.fixed.token.acme.dfs.core.windows.net",
        "fs.azure.sas.fixed.token",
    ],
)
def test_a_sas_of_a_container_or_an_account_is_used(name: str) -> None:
    assert from_session({name: "signed"}, parse_location(LAKE)) == {"sas_key": "signed"}


@pytest.mark.parametrize(
    "provider", ["ClientCredsTokenProvider", "MsiTokenProvider", "WorkloadIdentityTokenProvider"]
)
def test_identities_that_are_found_without_the_jvm_pass(provider: str) -> None:
    name = f"org.apache.hadoop.fs.azurebfs.oauth2.{provider}"
    settings = {"fs.azure.account.auth.type": "OAuth", "fs.azure.account.oauth.provider.type": name}
    assert from_session(settings, parse_location(LAKE)) == {}


NO_KEY = {"fs.azure.abfs.endpoint": "127.0.0.1:8"}


@pytest.mark.parametrize(
    ("settings", "environment"),
    [
        ({"fs.azure.account.key": "of-all"}, {}),
        ({"fs.azure.sas.lake.acme.blob.core.windows.net": "signed"}, {}),
        ({"fs.azure.account.oauth.provider.type": "o.a.h.MsiTokenProvider"}, {}),
        (NO_KEY, {"AZURE_STORAGE_ACCOUNT_KEY": "of-the-driver"}),
    ],
)
def test_credentials_of_the_session_or_of_the_driver_will_do(
    settings: dict[str, str], environment: dict[str, str]
) -> None:
    location = parse_location(LAKE)
    options = from_session(settings, location)
    check_identity(settings, location, options=options, environment=environment)


def test_a_machine_is_not_asked_for_an_identity_that_nobody_named() -> None:
    """The credentials of a catalog are in no setting: the machine's own would be used instead."""
    location = parse_location(LAKE)
    options = from_session(NO_KEY, location)
    with pytest.raises(ConfigError, match="no key, client secret or SAS for this account"):
        check_identity(NO_KEY, location, options=options, environment={"PATH": "/bin"})
    check_identity({}, parse_location("s3://lake/x"), options={}, environment={})


def test_onelake_needs_a_client_secret() -> None:
    location = parse_location("abfss://team@onelake.dfs.fabric.microsoft.com/house/x")
    with pytest.raises(ConfigError, match="OneLake"):
        from_session({"fs.azure.account.key": "of-all"}, location)
    secret = {"fs.azure.account.oauth2.client.secret": "given"}
    assert from_session(secret, location) == {"client_secret": "given"}
