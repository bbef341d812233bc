"""Lets the next start of a stream go past a refusal, without a change of its code."""

from __future__ import annotations

import getpass
from collections.abc import Mapping

from holdfast import clock
from holdfast.errors import ConfigError
from holdfast.record.acceptances import Grant
from holdfast.record.documents import create
from holdfast.record.layout import LEASES, check_stream_name, record_location
from holdfast.record.owner import this_process
from holdfast.storage.location import Location
from holdfast.storage.write import open_writer


def grant(
    root: Location, stream: str, nonces: dict[str, str], *, options: Mapping[str, str]
) -> None:
    """Let the next start that prints these nonces go past its refusal.

    Raises:
        ConfigError: The stream has no record below this root, so no start was refused there.
        ReadError, WriteError: The store did not answer.
    """
    check_stream_name(stream)
    record = open_writer(record_location(root, stream), options)
    if not record.list(LEASES).files:
        raise ConfigError(f"{root} has no stream {stream}: no start of it was refused there.")
    for code, nonce in nonces.items():
        document = Grant(
            code=code,
            nonce=nonce,
            granted_by=f"{_user()} on {this_process().host}",
            granted_at=clock.now().isoformat(timespec="seconds"),
        )
        create(record, document)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user that has no name
        return "an unnamed user"
