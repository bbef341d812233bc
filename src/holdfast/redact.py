"""Takes credentials out of text before it is shown, logged or recorded.

A URL keeps its scheme, its host and its path: `s3a://KEY:SECRET@lake/in` becomes
`s3a://***@lake/in`. Where a secret ends is a guess when it holds `/` or `@` itself, so everything
up to the last `@` is taken out.
"""

from __future__ import annotations

import re

HIDDEN = "***"

_AZURE = {"az", "adl", "azure", "abfs", "abfss", "wasb", "wasbs"}
"""Their `container@account` is an address, not a credential."""
_AT_ACCOUNT = re.compile(r"[^@:/]+@[^@:/]+")
_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:@]*)(:[0-9]{1,5})?")
_URL = re.compile(r"(?P<before>.*?)(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
"""With what may be before it: ``delta.`s3a://lake/gold` ``, `jdbc:postgresql://…`."""
_BARE = re.compile(r"[^/:]+:[^/].*@(?P<rest>.*)", re.DOTALL)
"""`KEY:SECRET@bucket`, without a scheme."""
_QUERY = re.compile(r"\?[A-Za-z][\w.~%-]*=.*", re.DOTALL)
"""A `?` that is not followed by `name=` is a wildcard of a path."""
_URL_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>`]+")
_NAME = (
    r"[\w.-]*(?:secret|passw|pwd|token|delegation|sig\b|signature|credential|"
    r"(?:access|account|api).?key)"
)
_VALUE = r"(?:'[^']*'|\"[^\"]*\"|[^\s&,;)\]]+)"
_NAMED = re.compile(rf"(?i)({_NAME}[\w.-]*['\"]?\s?=\s?|{_NAME}[\w.-]*['\"]:\s?){_VALUE}")


def redact_location(text: str) -> str:
    """Return a path or URL without user, password and query string."""
    matched = _URL.fullmatch(text)
    if matched is None:
        bare = _BARE.fullmatch(text)
        return f"{HIDDEN}@{bare['rest']}" if bare else text
    address = _without_user(matched["scheme"], matched["rest"])
    before = redact_location(matched["before"])
    return f"{before}{matched['scheme']}://{_QUERY.sub(f'?{HIDDEN}', address)}"


def redact(text: str) -> str:
    """Return any text without the credentials in its URLs and in its `password=…`."""
    shown = _URL_IN_TEXT.sub(lambda url: _redact_inside(url[0]), text)
    return _NAMED.sub(rf"\g<1>{HIDDEN}", shown)


def has_credentials(location: str) -> bool:
    """Return whether a path or URL holds a user, a password or a query string."""
    return redact_location(location) != location


def _redact_inside(url: str) -> str:
    """Return a URL without its user; of a query only values with a telling name are secret."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{_without_user(scheme, rest)}"


def _without_user(scheme: str, rest: str) -> str:
    authority = rest.partition("/")[0]
    if scheme.lower() in _AZURE and _AT_ACCOUNT.fullmatch(authority):
        return rest
    if "@" in authority or (":" in authority and "@" in rest):
        return f"{HIDDEN}@{rest.rpartition('@')[2]}"
    return rest if _WITH_PORT.fullmatch(authority) else HIDDEN
