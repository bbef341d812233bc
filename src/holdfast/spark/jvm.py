"""Whether the JVM of a session is still there, after a call into it did not get through."""

from __future__ import annotations

import socket
from typing import Any

_SECONDS = 5.0
_NO_OBJECT = "does not exist"
"""What py4j says of an object that the JVM does not know any more."""


def is_certainly_gone(query: Any, error: Exception) -> bool:
    """Return whether a query is gone, so that it cannot run any more.

    A call can fail here although the JVM runs on: this process has too many files open, or the
    connection was cut. Only a port that refuses connections tells that the JVM is gone.

    Args:
        query: Of PySpark.
        error: What a call to it has raised.
    """
    if isinstance(error, ConnectionRefusedError):
        return True
    if isinstance(error, OSError) or _is_lost_call(error):
        return _refuses_connections(query)
    return True  # the JVM itself has answered


def _is_lost_call(error: Exception) -> bool:
    from py4j.protocol import Py4JError, Py4JJavaError

    is_answer = isinstance(error, Py4JJavaError) or _NO_OBJECT in str(error)
    return isinstance(error, Py4JError) and not is_answer


def _refuses_connections(query: Any) -> bool:
    client = getattr(getattr(query, "_jsq", None), "_gateway_client", None)
    address = getattr(client, "address", None), getattr(client, "port", None)
    if None in address:
        return False
    try:
        socket.create_connection(address, timeout=_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError:  # not known: this process cannot ask
        return False
    return False
