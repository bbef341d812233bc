"""Takes credentials out of text before it is shown, logged or recorded.

A URL keeps its scheme, its host and its path: `s3a://KEY:SECRET@lake/in` becomes
`s3a://***@lake/in`. Where a secret ends is a guess when it holds `/` or `@` itself, so everything
up to the last `@` is taken out. A value is a secret by its name (`password=…`), or by its own form
(`AKIA…`, `eyJ….….…`, a PEM block). One that has neither is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

HIDDEN = "***"

_AZURE = {"az", "adl", "azure", "abfs", "abfss", "wasb", "wasbs"}
"""Their `container@account` is an address, not a credential."""
_AT_ACCOUNT = re.compile(r"[^@:/]+@[^@:/]+")
_WITH_PORT = re.compile(r"(\[[^\]]*\]|[^:@]*)(:[0-9]{1,5})?")
_URL = re.compile(
    r"(?P<before>.*?)(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30})://(?P<rest>.*)", re.DOTALL
)
"""With what may be before it: ``delta.`s3a://lake/gold` ``, `jdbc:postgresql://…`."""
_BARE = re.compile(r"[^/:]+:[^/].*@(?P<rest>.*)", re.DOTALL)
"""`KEY:SECRET@bucket`, without a scheme."""
_QUERY = re.compile(r"\?[A-Za-z][\w.~%-]*=.*", re.DOTALL)
"""A `?` that is not followed by `name=` is a wildcard of a path."""
# Repetitions have bounds: hostile text must not make a search quadratic.
_URL_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s'\"<>`]+")
_NAME = (
    r"(?:secret|passw|passphrase|pwd|token|delegation|sig\b|signature|credential|"
    r"(?:access|account|api|private|encryption|shared|storage).?key)[\w.-]{0,100}"
)
SECRET_NAME = re.compile(rf"(?i){_NAME}\s*\Z")
"""How the name of an option ends whose value is a secret."""
_VALUE = r"(?:\\?'[^']{0,65000}'|\\?\"[^\"]{0,65000}\"|[^\s&,;)\]}\"']+)"
_NAMED = re.compile(rf"(?i)({_NAME}(?:\\?['\"])?\s?(?:=|%3D)\s?|{_NAME}\\?['\"]\s?:\s?){_VALUE}")
_SAID = re.compile(
    r"(?i)((?:--|\b)(?:password|passwd|passphrase|pwd|(?:client|secret|access|api)[ _-]?"
    r"(?:secret|key|token))(?::\s?|\s))(?!(?:for|of|is|was|in|and|or|to|file|must|not|from)\b)"
    rf"{_VALUE}"
)
"""`password: …`, `--password …`."""
_IN_PATH = re.compile(r"(?<=/)[^\s/@]{0,200}:[^\s/@]{8,200}@")
"""`KEY:SECRET@bucket` as the name of a directory: of a URL that was taken for a path."""
_ORACLE = re.compile(r"(jdbc:oracle:\w+:)[^\s/@]{1,200}/\S{1,200}@")
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,60}-----(?:(?!-----END).)*(?:-----END [A-Z0-9 ]{0,60}-----)?",
    re.DOTALL,
)
_AUTHORIZATION = re.compile(r"(?i)(?:(?<=bearer )|(?<=basic )|(?<=negotiate ))[\w.~+/=-]{8,}")
_AWS_KEY = re.compile(r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b")
_WEB_TOKEN = re.compile(r"\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?")
_TOKEN = re.compile(
    r"\b(?:gh[opsur]_\w{10,}|github_pat_\w{10,}|xox[abprs]-[\w-]{8,}|glpat-[\w-]{10,}"
    r"|AIza[\w-]{20,}|ya29\.[\w-]{10,}|dapi[0-9a-zA-Z]{20,}|sk-[\w-]{20,}|hvs\.\w{10,}"
    r"|npm_\w{20,}|SG\.[\w-]{10,}\.[\w-]+)"
)


class Redacted(NamedTuple):
    """A text without its credentials."""

    text: str
    kinds: tuple[str, ...]
    """What was taken out, once per kind."""


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
    return find_credentials(text).text


def find_credentials(text: str) -> Redacted:
    """Return any text without its credentials, and of which kinds they were."""
    kinds = []
    lower = text.lower()
    if not _ANY_BEGIN.search(lower):
        return Redacted(text, ())
    for step in _STEPS:
        if not any(each in lower for each in step.begins):
            continue
        shown = step.substitute(text)
        if shown != text:
            kinds.append(step.kind)
            text = shown
    return Redacted(text, tuple(kinds))


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


def _hide_urls(text: str) -> str:
    shown = _URL_IN_TEXT.sub(lambda url: _redact_inside(url[0]), text)
    shown = _ORACLE.sub(rf"\g<1>{HIDDEN}@", shown)
    return _IN_PATH.sub(f"{HIDDEN}@", shown)


def _hide_named(text: str) -> str:
    shown = _NAMED.sub(rf"\g<1>{HIDDEN}", text)
    return _SAID.sub(rf"\g<1>{HIDDEN}", shown)


class _Step(NamedTuple):
    kind: str
    substitute: Callable[[str], str]
    begins: tuple[str, ...]
    """What such a secret has in it, in lower case: a text without it need not be searched."""


_STEPS = (
    _Step("PEM block", partial(_PEM.sub, HIDDEN), ("-----begin ",)),
    _Step(
        "HTTP authorization",
        partial(_AUTHORIZATION.sub, HIDDEN),
        ("bearer ", "basic ", "negotiate "),
    ),
    _Step("AWS key", partial(_AWS_KEY.sub, HIDDEN), ("akia", "asia", "aroa", "aida")),
    _Step("JSON web token", partial(_WEB_TOKEN.sub, HIDDEN), ("eyj",)),
    _Step(
        "token",
        partial(_TOKEN.sub, HIDDEN),
        (
            *("gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "xox", "glpat-"),
            *("aiza", "ya29.", "dapi", "sk-", "hvs.", "npm_", "sg."),
        ),
    ),
    _Step("user and password in a URL", _hide_urls, ("://", "@")),
    _Step(
        "value of a secret's name",
        _hide_named,
        ("secret", "passw", "passphrase", "pwd", "token", "delegation", "sig", "credential", "key"),
    ),
)
_ANY_BEGIN = re.compile("|".join(re.escape(each) for step in _STEPS for each in step.begins))
"""What every text with a secret has in it, in lower case."""
