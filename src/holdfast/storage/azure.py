"""Azure's ways to write one container of one account. No I/O."""

from __future__ import annotations

import re

from holdfast.errors import LocationError

PUBLIC_AZURE = "core.windows.net"
FABRIC = "fabric.microsoft.com"
"""Of OneLake."""
_SERVICES = {"abfs": "dfs", "abfss": "dfs", "wasb": "blob", "wasbs": "blob"}
_AT_ACCOUNT = re.compile(
    r"(?P<container>[^@/]+)@(?P<account>[^./]+)(?:\.(?:dfs|blob)\.(?P<cloud>[^/]+))?"
)


def azure_bucket(text: str, authority: str) -> str:
    """Return `container@account` for every host of an account, with the cloud if it is another.

    Raises:
        LocationError: It is a host that Azure gives in other forms: a private link, a DNS zone.
    """
    container, at, host = authority.rpartition("@")
    matched = _AT_ACCOUNT.fullmatch(f"{container}{at}{host.lower()}")
    is_short = "@" not in authority and not text.lower().startswith(tuple(_SERVICES))
    if matched is None and not is_short:
        why = "It does not name container@account.dfs.cloud or container@account.blob.cloud."
        how = "Give abfss://container@account.dfs.core.windows.net/…."
        raise LocationError(text, why=why, how=how)
    if matched is None:
        return authority
    cloud = matched["cloud"] or PUBLIC_AZURE
    bucket = f"{matched['container']}@{matched['account']}"
    return bucket if cloud == PUBLIC_AZURE else f"{bucket}.{cloud}"


def azure_account(bucket: str) -> tuple[str, str, str]:
    """Return the container of an Azure location, its account, and the domain of its cloud.

    The account is empty if the location does not name it: `az://container/path`.
    """
    container, _, rest = bucket.partition("@")
    account, _, cloud = rest.partition(".")
    return container, account, cloud or PUBLIC_AZURE


def azure_url(bucket: str, spelt: str = "") -> str:
    """Return what stands before the path: as Spark's settings name it if it was spelt so."""
    if "@" not in bucket:
        return f"az://{bucket}"
    spelt = spelt if spelt in _SERVICES else "abfss"
    container, account, cloud = azure_account(bucket)
    return f"{spelt}://{container}@{account}.{_SERVICES[spelt]}.{cloud}"
