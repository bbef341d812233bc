"""What a Spark session's Hadoop settings say of a store, as obstore's options. Pure.

Settings of a bucket or an account itself win over those for all, as in Hadoop. What is not here
(instance profiles, managed identities, workload identities) obstore finds as Hadoop does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from holdfast.errors import ConfigError
from holdfast.storage.azure import FABRIC, PUBLIC_AZURE, azure_account
from holdfast.storage.location import Location
from holdfast.storage.options import Settings, from_hadoop

# Hadoop's name below `fs.azure.` to obstore's; from hadoop-azure 3.5 `ConfigurationKeys.java`.
_AZURE = {
    "account.key": "account_key",
    "account.oauth2.client.id": "client_id",
    "account.oauth2.client.secret": "client_secret",
    "sas.fixed.token": "sas_key",
}
_AUTH = "account.auth.type"
_AUTHS = ("", "SHAREDKEY", "OAUTH", "SAS")
_OAUTH_PROVIDER = "account.oauth.provider.type"
_OAUTH_PROVIDERS = (
    "ClientCredsTokenProvider",
    "MsiTokenProvider",
    "WorkloadIdentityTokenProvider",
)
"""Whose credentials obstore takes from the settings, or finds by itself."""
_SAS_PROVIDER = "sas.token.provider.type"
_TENANT = "account.oauth2.client.endpoint"
_AZURE_ENDPOINT = "fs.azure.abfs.endpoint"
"""Of an emulator; a host and a port."""
_AZURE_TLS = "fs.azure.always.use.https"
# The connector of Google Cloud Storage: 2.2 and 3 name their settings differently.
_GS_KEYFILES = (
    "fs.gs.auth.service.account.json.keyfile",
    "google.cloud.auth.service.account.json.keyfile",
)
_GS_ENDPOINT = "fs.gs.storage.root.url"
_GS_AUTH = "fs.gs.auth.type"
_GS_UNSIGNED = "fs.gs.auth.null.enable"
_GS_FOUND = ("", "SERVICE_ACCOUNT_JSON_KEYFILE", "COMPUTE_ENGINE", "APPLICATION_DEFAULT")
"""Kinds of credentials that are in a key file, or that obstore finds on the machine itself."""
_UNSIGNED = {"skip_signature": "true", "bearer_token": "unsigned"}
"""The first is for reading. To write, obstore would ask Google's metadata server for a token."""
_GS_OTHERS = (
    "fs.gs.auth.access.token.provider",
    "fs.gs.auth.access.token.provider.impl",
    "fs.gs.auth.impersonation.service.account",
    "fs.gs.auth.service.account.email",
)


def from_session(settings: Settings, location: Location) -> dict[str, str]:
    """Return what the settings of a session say of a location's store.

    Raises:
        ConfigError: They ask for an identity that only Spark can take.
    """
    if location.scheme == "s3":
        return from_hadoop(settings, bucket=location.bucket)
    if location.scheme == "az":
        return _from_azure(settings, location)
    if location.scheme == "gs":
        return _from_gs(_getter(settings), location)
    return {}


def check_identity(
    settings: Settings,
    location: Location,
    *,
    options: Mapping[str, str],
    environment: Mapping[str, str],
) -> None:
    """Refuse an account of Azure for which neither the session nor the driver has credentials.

    The machine would be asked for an identity that nobody has asked for.

    Args:
        settings: Those of the session.
        location: In the account.
        options: What `from_session` took from the settings.
        environment: The driver's variables, which obstore reads too.

    Raises:
        ConfigError: There are none.
    """
    if location.scheme != "az" or any(name.startswith("AZURE_") for name in environment):
        return
    provider = _of_account(settings, location)(_OAUTH_PROVIDER)
    if not provider and not options.keys() - {"endpoint"}:
        raise ConfigError(
            f"{location}: the session has no key, client secret or SAS for this account "
            "(fs.azure.*), and the environment has no AZURE_* variable. Holdfast reaches Azure "
            "without the JVM: credentials of Unity Catalog and OneLake do not reach it."
        )


def _refused(location: Location, setting: str, instead: str) -> ConfigError:
    # Else the client would look for another identity, with other rights, and ask the network.
    return ConfigError(
        f"{location}: only Spark can use the credentials of {setting}, and Holdfast reaches this "
        f"store without the JVM. Give the session {instead}, or use a root on another store."
    )


def _getter(settings: Settings) -> Callable[[str], str | None]:
    return lambda name: settings.get(f"spark.hadoop.{name}") or settings.get(name)


def _hosts(location: Location) -> tuple[str, ...]:
    _, account, cloud = azure_account(location.bucket)
    return f"{account}.dfs.{cloud}", f"{account}.blob.{cloud}", account


def _of_account(settings: Settings, location: Location) -> Callable[[str], str | None]:
    """Return what gives a setting of an account, or else that of all accounts."""
    get = _getter(settings)

    def of_account(name: str) -> str | None:
        own = (get(f"fs.azure.{name}.{host}") for host in _hosts(location))
        return next(filter(None, own), None) or get(f"fs.azure.{name}")

    return of_account


def _from_azure(settings: Settings, location: Location) -> dict[str, str]:
    container, account, cloud = azure_account(location.bucket)
    get, of_account = _getter(settings), _of_account(settings, location)
    _check_azure(of_account, location)
    options = {ours: value for hadoop, ours in _AZURE.items() if (value := of_account(hadoop))}
    for name in ("sas", "sas.fixed.token"):
        for host in _hosts(location):
            if value := get(f"fs.azure.{name}.{container}.{host}"):
                options["sas_key"] = value
    options |= _login(of_account(_TENANT))
    if cloud == PUBLIC_AZURE and (emulator := get(_AZURE_ENDPOINT)):
        transport = "http" if (get(_AZURE_TLS) or "").lower() == "false" else "https"
        options["endpoint"] = f"{transport}://{emulator.rpartition('://')[2]}/{account}"
    return options


def _check_azure(of_account: Callable[[str], str | None], location: Location) -> None:
    """Refuse an identity that obstore does not take, by the setting that asks for it."""
    instead = "a key, a client secret or a fixed SAS"
    if (auth := of_account(_AUTH) or "").upper() not in _AUTHS:
        raise _refused(location, f"fs.azure.{_AUTH}={auth}", instead)
    if location.bucket.endswith(FABRIC) and not of_account("account.oauth2.client.secret"):
        raise _refused(location, "OneLake", "a client secret")
    for name in (_SAS_PROVIDER, _OAUTH_PROVIDER):
        provider = of_account(name)
        if provider and not provider.endswith(_OAUTH_PROVIDERS):
            raise _refused(location, f"fs.azure.{name}={provider}", instead)


def _login(endpoint: str | None) -> dict[str, str]:
    """Return tenant and host of `https://login.microsoftonline.com/<tenant>/oauth2/token`."""
    found = urlsplit(endpoint or "")
    tenant = "".join(found.path.split("/")[1:2])
    if not (tenant and found.hostname):
        return {}
    return {"tenant_id": tenant, "authority_host": f"https://{found.hostname}"}


def _from_gs(get: Callable[[str], str | None], location: Location) -> dict[str, str]:
    instead = f"a key file, {_GS_KEYFILES[0]}"
    auth = (get(_GS_AUTH) or "").upper()
    options: dict[str, str] = {}
    if auth == "UNAUTHENTICATED" or (get(_GS_UNSIGNED) or "").lower() == "true":
        options |= _UNSIGNED
    elif keyfile := next(filter(None, map(get, _GS_KEYFILES)), None):
        options["service_account"] = keyfile
    elif other := next(filter(get, _GS_OTHERS), None):
        raise _refused(location, other, instead)
    elif auth not in _GS_FOUND:
        raise _refused(location, f"{_GS_AUTH}={auth}", instead)
    if endpoint := get(_GS_ENDPOINT):
        options["base_url"] = endpoint.rstrip("/")
    return options
