"""Locks, a server that goes away, and a database that goes back."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from campaigns.target_changes.cells import Change, Expected, refused
from campaigns.target_changes.listening import PATIENCE_S
from campaigns.target_changes.rows import keep_first
from holdfast.drills.kill.waiting import wait_until

if TYPE_CHECKING:
    from campaigns.target_changes.postgres.scene import PostgresScene


def lock(scene: PostgresScene) -> None:
    """Lock the table in another session."""
    holder = scene.connect()
    holder.execute("BEGIN")
    holder.execute("LOCK TABLE readings IN ACCESS EXCLUSIVE MODE")
    scene.lock = holder


def lock_until_waited_for(scene: PostgresScene) -> None:
    """Lock the table, and release it as soon as the stream waits for it."""
    lock(scene)

    def release() -> None:
        wait_until(scene.is_stream_waiting, seconds=PATIENCE_S)
        scene.release()

    threading.Thread(target=release, daemon=True).start()


def restart(scene: PostgresScene) -> None:
    """Restart the server, as an administrator does."""
    scene.server.stop()
    scene.server.start()


def crash(scene: PostgresScene) -> None:
    """Kill the server; it recovers."""
    scene.server.crash()
    scene.server.start()


def restore_everything(scene: PostgresScene) -> None:
    """Bring table and ledger back to where they were after the first batch."""
    with scene.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE readings")
        connection.execute("DELETE FROM readings WHERE seq >= 1")
        connection.execute("DELETE FROM holdfast.history WHERE batch >= 1")
        connection.execute(
            "UPDATE holdfast.ledger SET last_batch = h.batch, digest = h.digest, rows = h.rows,"
            " brought = h.rows FROM holdfast.history h"
        )


_WAITING = Expected(
    running="SERVER_REFUSED starts arrived",
    stopped="SERVER_REFUSED starts arrived",
    during="arrived SERVER_REFUSED starts arrived",
)
_BEHIND = Expected(
    running="BATCH_REFUSED HF603", stopped="HF603", during="arrived BATCH_REFUSED HF603"
)

SESSIONS = (
    Change(
        name="locked by another session, and released",
        act=lock_until_waited_for,
        is_temporary=True,
    ),
    Change(
        name="locked by another session, and not released",
        act=lock,
        is_temporary=True,
        appended=_WAITING,
        merged=_WAITING,
    ),
    Change(name="server restarted", act=restart, setup="server"),
    Change(name="server killed", act=crash, setup="server"),
    Change(
        name="table and ledger restored together, to an older backup",
        act=restore_everything,
        effect=keep_first,
        appended=_BEHIND,
        merged=_BEHIND,
    ),
    Change(
        name="ledger row deleted",
        act=("DELETE FROM holdfast.ledger",),
        appended=(gone := refused("BATCH_REFUSED", "HF601")),
        merged=gone,
    ),
)
