"""Changes to the partitions of a table of PostgreSQL: one has batch 0, one takes the rest."""

from __future__ import annotations

from campaigns.target_changes.cells import REPLACED, REWRITTEN, Change, refused, refused_at_once
from campaigns.target_changes.postgres.constraints import trigger
from campaigns.target_changes.rows import remove_first

_UNSAFE = refused("TABLE_CHANGED", "TABLE")
_NO_PLACE = refused("SERVER_REFUSED")
_DETACH = "ALTER TABLE readings DETACH PARTITION"
_FOREIGN = (
    "CREATE EXTENSION postgres_fdw",
    "DO $$ BEGIN EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw"
    " OPTIONS (host %L, port %L, dbname %L)', '127.0.0.1', current_setting('port'),"
    " current_database()); END $$",
    "CREATE USER MAPPING FOR postgres SERVER here OPTIONS (user 'postgres',"
    " password 'loopback-only')",
    "CREATE TABLE elsewhere (id bigint, seq bigint, level integer, amount numeric(10,2),"
    " note text)",
    "CREATE FOREIGN TABLE readings_foreign (id bigint, seq bigint, level integer,"
    " amount numeric(10,2), note text) SERVER here OPTIONS (table_name 'elsewhere')",
    "ALTER TABLE readings ATTACH PARTITION readings_foreign FOR VALUES FROM (10000) TO (20000)",
)

PARTITIONS = (
    Change(
        name="partition added",
        setup="partitioned",
        act=(
            "CREATE TABLE readings_more PARTITION OF readings FOR VALUES FROM (10000) TO (20000)",
        ),
    ),
    Change(
        name="old partition detached",
        setup="partitioned",
        act=(f"{_DETACH} readings_first",),
        effect=remove_first,
    ),
    Change(
        name="old partition dropped",
        setup="partitioned",
        act=("DROP TABLE readings_first",),
        effect=remove_first,
    ),
    Change(
        name="old partition truncated",
        setup="partitioned",
        act=("TRUNCATE readings_first",),
        effect=remove_first,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="old partition replaced by an empty one",
        setup="partitioned",
        act=(
            "DROP TABLE readings_first",
            "CREATE TABLE readings_first PARTITION OF readings FOR VALUES FROM (0) TO (10)",
        ),
        effect=remove_first,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="partition that takes the next rows detached",
        setup="partitioned",
        act=(
            f"{_DETACH} readings_rest",
            "CREATE VIEW everything AS"
            " SELECT * FROM readings UNION ALL SELECT * FROM readings_rest",
        ),
        holds="everything",
        appended=_NO_PLACE,
        merged=_NO_PLACE,
    ),
    Change(
        name="partition rewritten by VACUUM FULL",
        setup="partitioned",
        act=("VACUUM FULL readings_first",),
        appended=REWRITTEN,
        merged=REWRITTEN,
    ),
    Change(
        name="partition set UNLOGGED",
        setup="partitioned",
        act=("ALTER TABLE readings_first SET UNLOGGED",),
        appended=_UNSAFE,
        merged=_UNSAFE,
    ),
    Change(
        name="foreign partition attached",
        setup="partitioned",
        act=_FOREIGN,
        appended=_UNSAFE,
        # A foreign table cannot be a partition of a table with a unique index.
        merged=None,
    ),
    Change(
        name="BEFORE trigger on a partition that drops new rows",
        setup="partitioned",
        act=trigger("IF NEW.id % 10 = 1 THEN RETURN NULL; END IF;", on="readings_rest"),
        appended=refused_at_once("ROWS_DROPPED"),
        merged=refused_at_once("ROWS_DROPPED"),
    ),
)
