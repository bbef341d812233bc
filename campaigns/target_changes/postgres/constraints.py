"""Constraints, triggers, rules and rights of a table of PostgreSQL."""

from __future__ import annotations

from campaigns.target_changes.cells import EXACT, Change, Expected, refused, refused_at_once
from campaigns.target_changes.rows import SHARED_ID, shout_notes

ROLE = "target_changes_writer"
"""The role of the stream where it does not own its table."""


def trigger(body: str, *, on: str = "readings", at: str = "BEFORE") -> tuple[str, str]:
    """Return the statements that put a trigger on a table."""
    return (
        "CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {body} RETURN NEW; END $$",
        f"CREATE TRIGGER meddling {at} INSERT OR UPDATE ON {on}"
        " FOR EACH ROW EXECUTE FUNCTION meddle()",
    )


_REFUSED = refused("SERVER_REFUSED")
_DROPPING = refused("ROWS_DROPPED")
_HIDDEN = refused("TABLE_CHANGED", "TABLE")

CONSTRAINTS = (
    Change(
        name="CHECK that the rows hold",
        act=("ALTER TABLE readings ADD CHECK (id > 0)",),
    ),
    Change(
        name="CHECK that the rows violate",
        act=("ALTER TABLE readings ADD CHECK (seq < 2) NOT VALID",),
        appended=_REFUSED,
        merged=_REFUSED,
    ),
    Change(
        name="unique index that the rows violate",
        act=(
            "DO $$ BEGIN LOCK TABLE readings; EXECUTE format("
            "'CREATE UNIQUE INDEX ON readings (note) WHERE seq > %s',"
            " (SELECT max(seq) FROM readings)); END $$",
        ),
        appended=_REFUSED,
        merged=_REFUSED,
    ),
    Change(
        name="unique index of the keys dropped",
        act=("ALTER TABLE readings DROP CONSTRAINT readings_pkey",),
        appended=None,
        merged=refused("SERVER_REFUSED", "TABLE"),
    ),
    Change(
        name="BEFORE trigger that changes nothing",
        act=trigger(""),
    ),
    Change(
        name="BEFORE trigger that changes values",
        act=trigger("NEW.note := upper(NEW.note);"),
        later=shout_notes,
    ),
    Change(
        name="BEFORE trigger that drops new rows",
        act=trigger("IF NEW.id % 10 = 1 THEN RETURN NULL; END IF;"),
        appended=_DROPPING,
        merged=_DROPPING,
    ),
    Change(
        name="BEFORE trigger that drops updates",
        act=trigger(f"IF NEW.id = {SHARED_ID} THEN RETURN NULL; END IF;"),
        appended=None,
        merged=_DROPPING,
    ),
    Change(
        name="AFTER trigger",
        act=(
            "CREATE TABLE audit (id bigint)",
            *trigger("INSERT INTO audit VALUES (NEW.id);", at="AFTER"),
        ),
    ),
    Change(
        name="rule ON INSERT",
        act=("CREATE RULE away AS ON INSERT TO readings DO INSTEAD NOTHING",),
        appended=EXACT,
        merged=refused("SERVER_REFUSED", "TABLE"),
        why="PostgreSQL does not apply rules to COPY.",
    ),
)

RIGHTS = (
    Change(
        name="row-level security enabled, for a role that does not own the table",
        act=("ALTER TABLE readings ENABLE ROW LEVEL SECURITY",),
        setup="role",
        appended=_HIDDEN,
        merged=_HIDDEN,
    ),
    Change(
        name="row-level security enabled, with a policy that allows everything",
        act=(
            "ALTER TABLE readings ENABLE ROW LEVEL SECURITY",
            "CREATE POLICY everything ON readings USING (true)",
        ),
        setup="role",
        appended=_HIDDEN,
        merged=_HIDDEN,
    ),
    Change(
        name="INSERT and UPDATE revoked",
        act=(f"REVOKE INSERT, UPDATE ON readings FROM {ROLE}",),
        setup="role",
        appended=(revoked := refused_at_once("SERVER_REFUSED")),
        merged=revoked,
    ),
    Change(
        name="SELECT revoked",
        act=(f"REVOKE SELECT ON TABLE readings FROM {ROLE}",),  # noqa: S608 - a constant
        setup="role",
        appended=Expected(
            running="arrived SERVER_REFUSED",
            stopped="SERVER_REFUSED",
            during="arrived arrived SERVER_REFUSED",
        ),
        merged=refused_at_once("SERVER_REFUSED", "SERVER_REFUSED"),
        why="A start reads the table, a batch that is appended does not.",
    ),
)
