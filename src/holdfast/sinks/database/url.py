"""The URL of a database, taken apart without showing any part of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

SCHEMES = {
    "mariadb": "mariadb",
    "mariadb+pymysql": "mariadb",
    "mysql": "mariadb",
    "mysql+pymysql": "mariadb",
    "sqlite": "sqlite",
    "mssql": "sqlserver",
    "mssql+pytds": "sqlserver",
    "sqlserver": "sqlserver",
    "oracle": "oracle",
    "oracle+oracledb": "oracle",
}
"""The dialect of each scheme; those with a driver are SQLAlchemy's."""
_OPTIONS = {
    "mariadb": frozenset(
        [
            "connect_timeout",
            "local_infile",
            "read_timeout",
            "ssl_ca",
            "ssl_cert",
            "ssl_key",
            "ssl_verify_identity",
            "unix_socket",
        ]
    ),
    "sqlite": frozenset(["busy_timeout"]),
    "sqlserver": frozenset(["connect_timeout", "read_timeout", "ssl_ca"]),
    "oracle": frozenset(["connect_timeout", "read_timeout", "tls", "wallet_location"]),
}
_NUMBERS = frozenset(["connect_timeout", "read_timeout", "busy_timeout"])


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a database is, and as whom it is used: a secret, which nothing shows."""

    dialect: str
    host: str = ""
    port: int | None = None
    user: str = ""
    password: str = ""
    database: str = ""
    """Its name; of SQLite the path of the file, of Oracle the service."""
    options: Mapping[str, str] = {}

    def __repr__(self) -> str:
        """Show nothing of it."""
        return f"Address({self.dialect})"

    def seconds(self, name: str, default: int) -> int:
        """Return an option that is a number of seconds."""
        return int(self.options.get(name, default))

    def is_on(self, name: str) -> bool:
        """Return whether an option that is a switch is on."""
        return self.options.get(name, "").lower() in ("1", "true", "yes", "on")


def parse_url(text: str) -> Address | str:
    """Return the address that a URL names, or why it names none, without a part of it."""
    scheme, separator, _ = text.partition("://")
    scheme = scheme.lower()
    if text.lower().startswith("jdbc:"):
        return "The URL is a JDBC URL. Write it as mariadb://user:password@host:3306/database."
    if not separator or scheme not in SCHEMES:
        return (
            "The URL begins with none of mariadb://, mysql://, sqlite://, sqlserver:// and "
            "oracle://; for PostgreSQL use hf.Postgres."
        )
    try:
        return _parse(text, SCHEMES[scheme])
    except ValueError:
        return (
            "The URL cannot be parsed. Write special characters of the user and the password "
            "percent-encoded (@ is %40, / is %2F, # is %23, % is %25)."
        )


def _parse(text: str, dialect: str) -> Address | str:
    parts = urlsplit(text)
    options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    if unknown := sorted(set(options) - _OPTIONS[dialect]):
        shown = ", ".join(sorted(_OPTIONS[dialect]))
        return f"The URL has {len(unknown)} options that are not known; those known are: {shown}."
    if any(not options[name].isdecimal() for name in _NUMBERS & set(options)):
        return "The URL has a number of seconds that is not one."
    if parts.fragment or "@" in unquote(parts.path) * (dialect != "sqlite"):
        raise ValueError
    if dialect == "sqlite":
        if parts.netloc or not parts.path.strip("/"):
            return "The URL of SQLite is sqlite:/// and a path: sqlite:////data/serving.db."
        return Address(dialect=dialect, database=unquote(parts.path)[1:], options=options)
    database = unquote(parts.path).strip("/")
    if not database or not (parts.hostname or "unix_socket" in options):
        return "The URL lacks the host or the database: mariadb://user:password@host:3306/database."
    return Address(
        dialect=dialect,
        host=parts.hostname or "localhost",
        port=parts.port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=database,
        options=options,
    )
