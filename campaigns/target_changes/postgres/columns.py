"""Changes to the columns of a table of PostgreSQL."""

from __future__ import annotations

from campaigns.target_changes.cells import REWRITTEN, Change, Expected, refused
from campaigns.target_changes.rows import cut_notes, empty_notes, round_amounts

_RETYPED = refused("TABLE_CHANGED", "TABLE")
_NARROWED = Expected(
    running="TABLE_CHANGED starts VALUE_REFUSED",
    stopped="starts VALUE_REFUSED",
    during="arrived TABLE_CHANGED starts VALUE_REFUSED",
)
_REQUIRED = refused("SERVER_REFUSED", "TABLE")

COLUMNS = (
    Change(
        name="bigint column becomes double precision",
        act=("ALTER TABLE readings ALTER COLUMN seq TYPE double precision",),
        appended=_RETYPED,
        merged=_RETYPED,
    ),
    Change(
        name="integer column becomes bigint",
        act=("ALTER TABLE readings ALTER COLUMN level TYPE bigint",),
        appended=REWRITTEN,
        merged=REWRITTEN,
    ),
    Change(
        name="numeric(10,2) column becomes numeric(10,0)",
        act=("ALTER TABLE readings ALTER COLUMN amount TYPE numeric(10,0)",),
        effect=round_amounts,
        appended=_RETYPED,
        merged=_RETYPED,
    ),
    Change(
        name="text column becomes varchar(3)",
        act=("ALTER TABLE readings ALTER COLUMN note TYPE varchar(3) USING left(note, 3)",),
        effect=cut_notes,
        appended=_NARROWED,
        merged=_NARROWED,
    ),
    Change(
        name="nullable column added",
        act=("ALTER TABLE readings ADD COLUMN extra integer",),
    ),
    Change(
        name="NOT NULL column added, with a default",
        act=("ALTER TABLE readings ADD COLUMN extra integer NOT NULL DEFAULT 0",),
    ),
    Change(
        name="NOT NULL column added, without a default",
        act=(
            "ALTER TABLE readings ADD COLUMN extra integer NOT NULL DEFAULT 0",
            "ALTER TABLE readings ALTER COLUMN extra DROP DEFAULT",
        ),
        appended=_REQUIRED,
        merged=_REQUIRED,
    ),
    Change(
        name="column dropped",
        act=("ALTER TABLE readings DROP COLUMN note",),
        appended=_RETYPED,
        merged=_RETYPED,
    ),
    Change(
        name="column renamed",
        act=("ALTER TABLE readings RENAME COLUMN note TO remark",),
        appended=_RETYPED,
        merged=_RETYPED,
    ),
    Change(
        name="column dropped and added again",
        act=(
            "ALTER TABLE readings DROP COLUMN note",
            "ALTER TABLE readings ADD COLUMN note text",
        ),
        effect=empty_notes,
        why="Columns are written by name, so their order does not matter.",
    ),
)
