"""A REST catalog, asked with GET alone: its answer for a table has the whole metadata.

`https://host/path?warehouse=NAME&token=TOKEN`, as Iceberg's specification of the REST catalog has
it. A token is a bearer token; OAuth2's exchange of credentials and AWS's signatures are not spoken.
No part of the address is in an error. Redirects are not followed: they would carry the token on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import TypeVar
from urllib.error import HTTPError
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    ProxyHandler,
    Request,
    build_opener,
    getproxies,
)

import msgspec

from holdfast.formats.iceberg_metadata import MOST_BYTES
from holdfast.sinks.iceberg.failures import CatalogError

SCHEMES = ("http", "https")
_OPTIONS = frozenset(["warehouse", "prefix", "token"])
_SECONDS = 60
_MISSING, _REFUSED = 404, (401, 403, 419)
_BETWEEN = "%1F"
"""Stands between the levels of a namespace, unless the catalog says something else."""


_T = TypeVar("_T")


class _Config(msgspec.Struct, frozen=True):
    defaults: Mapping[str, str] = {}
    overrides: Mapping[str, str] = {}


class _Loaded(msgspec.Struct, frozen=True):
    metadata: msgspec.Raw
    location: str = msgspec.field(name="metadata-location", default="")


class _Staying(HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Make no other request."""


class RestAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a catalog is, and as whom it is asked: a secret, which nothing shows."""

    base: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        """Show nothing of it."""
        return "RestAddress()"


def parse_address(text: str) -> RestAddress | str:
    """Return the address that a URL names, or why it names none, without a part of it."""
    try:
        parts = urlsplit(text.strip())
        options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        return "The URL cannot be parsed."
    if "@" in parts.netloc or not parts.hostname or parts.fragment:
        return "The URL must have a host, and no user: write the token as ?token=."
    if set(options) - _OPTIONS:
        return f"The URL has an option besides {', '.join(sorted(_OPTIONS))}."
    path = parts.path.rstrip("/").removesuffix("/v1")
    return RestAddress(base=f"{parts.scheme}://{parts.netloc}{path}/v1", options=options)


class RestCatalog:
    """One catalog behind HTTP."""

    def __init__(self, address: RestAddress, name: str) -> None:
        """Ask nothing yet.

        Args:
            address: Where it is.
            name: Of the secret that holds the address.
        """
        self._address, self._name = address, name
        self._config: Mapping[str, str] | None = None
        # A proxy would see the token of a request without TLS.
        proxies = {kind: there for kind, there in getproxies().items() if kind == "https"}
        self._opener = build_opener(ProxyHandler(proxies), _Staying())

    def load(self, namespace: Sequence[str], table: str) -> tuple[str, bytes] | None:
        """Return the current metadata of a table and the name of its file; None without the table.

        Raises:
            CatalogError: The catalog did not answer, or refused.
        """
        told = self._told()
        prefix = told.get("prefix", self._address.options.get("prefix", ""))
        below = f"{quote(prefix, safe='/')}/" if prefix else ""
        levels = (quote(level, safe="") for level in namespace)
        named = told.get("namespace-separator", _BETWEEN).join(levels)
        raw = self._get(f"{below}namespaces/{named}/tables/{quote(table, safe='')}")
        if raw is None:
            return None
        loaded = self._parsed(raw, _Loaded)
        return loaded.location, bytes(loaded.metadata)

    def _told(self) -> Mapping[str, str]:
        """Return what the catalog tells all its clients."""
        if self._config is None:
            asked = {k: v for k, v in self._address.options.items() if k == "warehouse"}
            raw = self._get(f"config?{urlencode(asked)}" if asked else "config")
            if raw is None:
                raise CatalogError(self._name, why="There is no REST catalog at its address.")
            told = self._parsed(raw, _Config)
            self._config = {**told.defaults, **told.overrides}
        return self._config

    def _parsed(self, raw: bytes, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, RecursionError):
            pass  # its text may quote what was answered
        raise CatalogError(self._name, why="Its answer is not that of an Iceberg REST catalog.")

    def _get(self, path: str) -> bytes | None:
        answered = self._answer(path)
        if isinstance(answered, str):
            raise CatalogError(self._name, why=answered)
        return answered

    def _answer(self, path: str) -> bytes | str | None:
        """Return what was answered; None for what is not there, or why there is no answer."""
        token = self._address.options.get("token")
        headers = {"Accept": "application/json"}
        headers |= {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            request = Request(f"{self._address.base}/{path}", headers=headers)  # noqa: S310 - http(s)
            with self._opener.open(request, timeout=_SECONDS) as answer:
                found: bytes = answer.read(MOST_BYTES + 1)
        except HTTPError as error:
            error.close()
            if error.code == _MISSING:
                return None
            refused = " It did not accept the token." if error.code in _REFUSED else ""
            return f"It answered {error.code}.{refused}"
        except (OSError, HTTPException, ValueError) as error:
            cause = getattr(error, "reason", error)
            return f"It did not answer ({type(cause).__name__})."
        return "Its answer is too large." if len(found) > MOST_BYTES else found
