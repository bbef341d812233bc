"""Settings of clients: from what a user keeps as the secret, and those that the protocol needs."""

from __future__ import annotations

import logging
import re

from holdfast.errors import ConfigError
from holdfast.sinks.secrets import Secret, reveal, shown_name

SERVERS = "bootstrap.servers"
OWNED = frozenset(
    {
        "acks",
        "enable.auto.commit",
        "enable.idempotence",
        "enable.partition.eof",
        "group.id",
        "isolation.level",
        "message.send.max.retries",
        "partitioner",
        "transaction.timeout.ms",
        "transactional.id",
    }
)
"""Properties on which exactly-once depends: a user cannot set them."""
_PROPERTY = re.compile(r"\s*([A-Za-z][A-Za-z0-9._-]*)\s*=\s*(.*?)\s*")

Settings = dict[str, object]


def client_settings(servers: Secret) -> Settings:
    """Return the settings of a client of the cluster that a secret names.

    Raises:
        ConfigError: The secret cannot be read, or is neither servers nor properties.
    """
    found = read_settings(reveal(servers))
    if isinstance(found, str):
        raise ConfigError(f"{shown_name(servers)} {found}")
    # What librdkafka logs can hold addresses; what matters comes as an error as well.
    silent = logging.Logger("librdkafka", level=logging.CRITICAL + 1)
    return {**found, "client.id": "holdfast", "logger": silent}


def read_settings(text: str) -> dict[str, str] | str:
    """Return the properties of a text, or why it has none, without what it holds."""
    if "=" not in text:
        return {SERVERS: text.strip()}
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        matched = _PROPERTY.fullmatch(line)
        if matched is None:
            return f"has no name=value in line {number}."
        found[matched[1]] = matched[2]
    if not found.get(SERVERS):
        return f"has properties, and {SERVERS} is not among them."
    owned = sorted(OWNED & set(found))
    return f"sets {owned[0]}, which Holdfast sets itself." if owned else found
