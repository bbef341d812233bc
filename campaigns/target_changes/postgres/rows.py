"""Changes to the rows of a table of PostgreSQL, and to the table as a whole."""

from __future__ import annotations

from campaigns.target_changes.cells import REPLACED, REWRITTEN, Change, Expected, refused
from campaigns.target_changes.rows import (
    INSERT_THEIRS,
    add_theirs,
    keep_first,
    note_first,
    only_theirs,
    remove_all,
    remove_first,
)

_COPY = "CREATE TABLE copy (LIKE readings INCLUDING ALL)"
_IN_ITS_PLACE = ("DROP TABLE readings", "ALTER TABLE copy RENAME TO readings")
_DROPPED = refused("TABLE_CHANGED", "TABLE")

ROWS = (
    Change(
        name="TRUNCATE",
        act=("TRUNCATE readings",),
        effect=remove_all,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="DELETE of every row",
        act=("DELETE FROM readings",),
        effect=remove_all,
        appended=(
            emptied := Expected(
                running="arrived starts arrived",
                stopped="HF608",
                during="arrived arrived starts arrived",
            )
        ),
        merged=emptied,
        why="A start finds an empty table; a batch in between hides that it was empty.",
    ),
    Change(
        name="DELETE of some rows",
        act=("DELETE FROM readings WHERE id < 10",),
        effect=remove_first,
    ),
    Change(
        name="UPDATE by another writer",
        act=("UPDATE readings SET note = 'theirs' WHERE id < 10",),
        effect=note_first,
    ),
    Change(
        name="INSERT by another writer",
        act=(INSERT_THEIRS.format("readings"),),
        effect=add_theirs,
    ),
    Change(
        name="DELETE of some rows, then VACUUM FULL",
        act=("DELETE FROM readings WHERE id < 10", "VACUUM FULL readings"),
        effect=remove_first,
        appended=REPLACED,
        merged=REPLACED,
        why="It cannot be told from a restored older copy.",
    ),
)

TABLES = (
    Change(
        name="DROP TABLE",
        act=("DROP TABLE readings",),
        effect=remove_all,
        appended=_DROPPED,
        merged=_DROPPED,
    ),
    Change(
        name="DROP TABLE and CREATE TABLE again",
        act=(_COPY, *_IN_ITS_PLACE),
        effect=remove_all,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="renamed",
        act=("ALTER TABLE readings RENAME TO moved",),
        holds="moved",
        appended=_DROPPED,
        merged=_DROPPED,
    ),
    Change(
        name="renamed, and another table has its name",
        act=(
            "ALTER TABLE readings RENAME TO moved",
            "CREATE TABLE readings (LIKE moved INCLUDING ALL)",
        ),
        holds="moved",
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="renamed, and another table with as many rows has its name",
        act=(
            "ALTER TABLE readings RENAME TO moved",
            "CREATE TABLE readings (LIKE moved INCLUDING ALL)",
            "INSERT INTO readings SELECT * FROM moved",
        ),
        holds="moved",
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="moved into another schema",
        act=("CREATE SCHEMA archive", "ALTER TABLE readings SET SCHEMA archive"),
        holds="archive.readings",
        appended=_DROPPED,
        merged=_DROPPED,
    ),
    Change(
        name="a table of the same name comes earlier in search_path",
        act=(
            "CREATE SCHEMA postgres",
            "CREATE TABLE postgres.readings (LIKE public.readings INCLUDING ALL)",
        ),
        holds="public.readings",
        appended=(
            shadowed := Expected(
                running="arrived HF608", stopped="HF608", during="arrived arrived HF608"
            )
        ),
        merged=shadowed,
        why="A running stream knows the schema of its table; a start looks the name up again.",
    ),
    Change(
        name="restored from a dump of the table alone, with every row",
        act=(
            "BEGIN; LOCK TABLE readings",  # else a batch can come after the dump
            _COPY,
            "INSERT INTO copy SELECT * FROM readings",
            *_IN_ITS_PLACE,
            "COMMIT",
        ),
        appended=REWRITTEN,
        merged=REWRITTEN,
    ),
    Change(
        name="restored from an older dump of the table alone",
        act=(_COPY, "INSERT INTO copy SELECT * FROM readings WHERE seq < 1", *_IN_ITS_PLACE),
        effect=keep_first,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="restored from the dump of another table",
        act=(_COPY, INSERT_THEIRS.format("copy"), *_IN_ITS_PLACE),
        effect=only_theirs,
        appended=REPLACED,
        merged=REPLACED,
    ),
)

STORAGE = (
    Change(
        name="ALTER TABLE SET UNLOGGED",
        act=("ALTER TABLE readings SET UNLOGGED",),
        appended=_DROPPED,
        merged=_DROPPED,
    ),
    Change(name="VACUUM", act=("VACUUM readings",)),
    Change(name="VACUUM FULL", act=("VACUUM FULL readings",), appended=REWRITTEN, merged=REWRITTEN),
    Change(
        name="CLUSTER",
        act=("CREATE INDEX by_seq ON readings (seq)", "CLUSTER readings USING by_seq"),
        appended=REWRITTEN,
        merged=REWRITTEN,
    ),
    Change(name="REINDEX", act=("REINDEX TABLE readings",)),
    Change(name="ANALYZE", act=("ANALYZE readings",)),
)
