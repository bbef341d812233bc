"""Whether anybody listens where a server was: only that tells that it is gone."""

from __future__ import annotations

import socket

_SECONDS = 5.0


def refuses_connections(host: str | None, port: int | None) -> bool:
    """Return whether a port refuses connections; False when it is not known."""
    if host is None or port is None:
        return False
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError:  # not known: this process cannot ask
        return False
    return False
