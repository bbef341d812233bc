"""Clients of buckets, made by obstore: which one a scheme needs, and with which options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from holdfast.errors import ConfigError
from holdfast.storage.azure import FABRIC, PUBLIC_AZURE, azure_account
from holdfast.storage.location import Location
from holdfast.storage.options import from_environment

Store = S3Store | GCSStore | AzureStore | MemoryStore


def store_options(place: Location, options: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the options for a bucket: those given, and below them what the environment says.

    Raises:
        ConfigError: An AWS file cannot be parsed, or boto3 does not accept the profile.
        MissingExtraError: The AWS profile needs boto3, which is not installed.
    """
    given = dict(options or {})
    found = from_environment(os.environ, given=given) if place.scheme == "s3" else {}
    return {**found, **given}


def open_store(location: Location, options: Mapping[str, Any]) -> Store:
    """Return a client of the location's bucket, rooted at its path.

    Options are obstore's and win over the environment, which obstore reads itself.

    Raises:
        ConfigError: obstore does not take the options.
    """
    try:
        return _make_store(location, options)
    except (BaseError, ValueError, TypeError):
        # Not a cause either: obstore quotes values that it cannot parse.
        names = ", ".join(sorted(options)) or "none given"
    raise ConfigError(
        f"The storage options for {location} are not accepted. Check the names and values of the "
        f"options ({names}) and of the environment variables of its store."
    )


def _make_store(location: Location, options: Mapping[str, Any]) -> Store:
    chosen: dict[str, Any] = {name.lower(): value for name, value in options.items()}
    plain_http = any(str(value).startswith("http://") for value in chosen.values())
    chosen["client_options"] = {"allow_http": plain_http}
    if location.path:
        chosen["prefix"] = location.path
    if location.scheme == "s3":
        return S3Store(location.bucket, **chosen)
    if location.scheme == "gs":
        return GCSStore(location.bucket, **chosen)
    return _make_azure(location, chosen)


def _make_azure(location: Location, chosen: dict[str, Any]) -> AzureStore:
    container, account, cloud = azure_account(location.bucket)
    if account:
        chosen.setdefault("account_name", account)
    if cloud == FABRIC:
        chosen.setdefault("use_fabric_endpoint", "true")
    elif cloud != PUBLIC_AZURE:
        chosen.setdefault("endpoint", f"https://{account}.blob.{cloud}")
    return AzureStore(container, **chosen)


def whole_bucket(store: Store) -> Store:
    """Return a client of the same bucket, with the same settings, that is not rooted at a path."""
    if isinstance(store, MemoryStore):
        return store
    settings: dict[str, Any] = {
        "config": store.config,
        "client_options": store.client_options,
        "retry_config": store.retry_config,
    }
    if store.credential_provider is not None:
        settings["credential_provider"] = store.credential_provider
    return type(store)(**settings)


def has_same_settings(one: Store, other: Store) -> bool:
    """Return whether two clients are of one bucket, with the same endpoint and credentials."""
    if isinstance(one, MemoryStore) or isinstance(other, MemoryStore):
        return False  # it has no prefix
    return type(one) is type(other) and one.config == other.config
