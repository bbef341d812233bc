"""Changes to a Delta table as a whole: its directory, its name, its columns, its properties."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from campaigns.target_changes.cells import (
    EXACT,
    REPLACED,
    Change,
    Expected,
    refused,
    refused_at_once,
)
from campaigns.target_changes.delta.rows import clean_up, their_row
from campaigns.target_changes.rows import SCHEMA, first_again, only_theirs, remove_all
from holdfast.formats.delta_log import LOG

if TYPE_CHECKING:
    from campaigns.target_changes.delta.scene import DeltaScene

_LONG_LOG = 12


def delete(scene: DeltaScene) -> None:
    """Delete the directory."""
    shutil.rmtree(scene.path)


def move(scene: DeltaScene) -> None:
    """Move the directory away."""
    scene.path.rename(scene.directory / "moved")


def create(scene: DeltaScene) -> None:
    """Create an empty table where the stream's was."""
    scene.forget()  # another driver does it
    empty = scene.theirs.createDataFrame([], SCHEMA)
    empty.write.format("delta").save(str(scene.path))


def delete_and_create(scene: DeltaScene) -> None:
    """Delete the directory and create the table again."""
    delete(scene)
    create(scene)


def replace_by_older(scene: DeltaScene) -> None:
    """Put an older state of the directory in its place."""
    newest = f"{scene.newest():020}"
    copied = scene.directory / "copied"
    shutil.copytree(scene.path, copied)
    for name in (f"{newest}.json", f".{newest}.json.crc", f"{newest}.crc", f".{newest}.crc.crc"):
        (copied / LOG / name).unlink(missing_ok=True)
    delete(scene)
    copied.rename(scene.path)


def replace_by_copy(scene: DeltaScene) -> None:
    """Put a copy of the directory in its place."""
    copied = scene.directory / "copied"
    shutil.copytree(scene.path, copied)
    delete(scene)
    copied.rename(scene.path)


def replace_by_other(scene: DeltaScene) -> None:
    """Put another table in the place of the stream's."""
    delete(scene)
    scene.forget()
    their_row(scene).write.format("delta").save(str(scene.path))


def replace_by_long(scene: DeltaScene) -> None:
    """Put another table in its place that has more commits."""
    replace_by_other(scene)
    for number in range(_LONG_LOG):
        scene.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('n' = '{number}')")


def replace_by_longer(scene: DeltaScene) -> None:
    """Put another table in its place that has more commits, the old ones cleaned up."""
    replace_by_long(scene)
    clean_up(scene)


def move_location(scene: DeltaScene) -> None:
    """Have the name of the table stand for another directory."""
    other = scene.directory / "other"
    scene.theirs.createDataFrame([], SCHEMA).write.format("delta").save(str(other))
    scene.sql(f"ALTER TABLE {{table}} SET LOCATION '{other}'")


_GONE = replace(refused("TABLE_CHANGED", "HF601"), during="TABLE_CHANGED HF608")
"""A batch that has looked before lands in what is there now, and is refused all the same."""
_REWOUND = replace(
    refused("TABLE_CHANGED", "HF603"),
    during="arrived TABLE_CHANGED HF608",  # the batch lands in a version that was seen before
)
_TABLE_OF = f"({SCHEMA}) USING delta"
_MAPPED = (
    "ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
    " 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
)
_WIDENED = Expected(
    running="arrived DELTA_TABLE", stopped="DELTA_TABLE", during="arrived arrived DELTA_TABLE"
)


_LACKING = refused_at_once("DELTA_REFUSED", "DELTA_TABLE")

TABLES = (
    Change(
        name="directory deleted",
        act=delete,
        effect=remove_all,
        appended=(deleted := refused_at_once("TABLE_CHANGED", "HF601")),
        merged=deleted,
    ),
    Change(
        name="directory moved away",
        act=move,
        holds="moved",
        appended=deleted,
        merged=deleted,
    ),
    Change(
        name="directory deleted and the table created again",
        act=delete_and_create,
        effect=remove_all,
        appended=_GONE,
        merged=_GONE,
        lands_there=True,
    ),
    Change(
        name="directory replaced by a copy of itself",
        act=replace_by_copy,
    ),
    Change(
        name="directory replaced by an older state",
        act=replace_by_older,
        effect=first_again,
        appended=_REWOUND,
        merged=_REWOUND,
    ),
    Change(
        name="directory replaced by another table",
        act=replace_by_other,
        effect=only_theirs,
        appended=_GONE,
        merged=_GONE,
        lands_there=True,
    ),
    Change(
        name="directory replaced by another table with a longer log, cleaned up",
        act=replace_by_longer,
        effect=only_theirs,
        appended=_GONE,
        merged=_GONE,
        lands_there=True,
    ),
    Change(
        name="directory replaced by another table with a longer log",
        act=replace_by_long,
        effect=only_theirs,
        appended=_GONE,
        merged=_GONE,
        lands_there=True,
    ),
    Change(
        name="CREATE OR REPLACE TABLE",
        setup="by_name",  # of a table named by its path it has no effect
        act=(f"CREATE OR REPLACE TABLE {{table}} {_TABLE_OF}",),
        effect=remove_all,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="SHALLOW CLONE of it elsewhere", act=("CREATE TABLE {other} SHALLOW CLONE {table}",)
    ),
    Change(
        name="DROP TABLE, by name",
        setup="by_name",
        act=("DROP TABLE {table}",),
        effect=remove_all,
        appended=deleted,
        merged=deleted,
    ),
    Change(
        name="DROP TABLE and CREATE TABLE again, by name",
        setup="by_name",
        act=("DROP TABLE {table}", f"CREATE TABLE {{table}} {_TABLE_OF}"),
        effect=remove_all,
        appended=_GONE,
        merged=_GONE,
        lands_there=True,
    ),
    Change(
        name="its name stands for another directory",
        setup="by_name",
        act=move_location,
        effect=remove_all,
        holds="other",
        appended=deleted,
        merged=deleted,
    ),
)

COLUMNS = (
    Change(name="column added", act=("ALTER TABLE {table} ADD COLUMNS (extra int)",)),
    Change(
        name="column type widened from int to bigint",
        act=(
            "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
            "ALTER TABLE {table} ALTER COLUMN level TYPE bigint",
        ),
        appended=_WIDENED,
        merged=_WIDENED,
    ),
    Change(
        name="column dropped",
        act=(_MAPPED, "ALTER TABLE {table} DROP COLUMN note"),
        appended=_LACKING,
        merged=_LACKING,
    ),
    Change(
        name="column renamed",
        act=(_MAPPED, "ALTER TABLE {table} RENAME COLUMN note TO remark"),
        appended=_LACKING,
        merged=_LACKING,
    ),
    Change(
        name="CHECK that the rows hold",
        act=("ALTER TABLE {table} ADD CONSTRAINT held CHECK (id > 0)",),
    ),
    Change(
        name="CHECK that the rows violate",
        act=("ALTER TABLE {table} ADD CONSTRAINT violated CHECK (seq < 2)",),
        appended=(checked := refused_at_once("DELTA_REFUSED")),
        merged=checked,
    ),
    Change(
        name="delta.appendOnly",
        act=("ALTER TABLE {table} SET TBLPROPERTIES ('delta.appendOnly' = 'true')",),
        appended=EXACT,
        merged=refused_at_once("DELTA_REFUSED"),
    ),
    Change(
        name="delta.setTransactionRetentionDuration",
        act=(
            "ALTER TABLE {table} SET TBLPROPERTIES"
            " ('delta.setTransactionRetentionDuration' = 'interval 1 day')",
        ),
        appended=_WIDENED,
        merged=_WIDENED,
        why="Delta would forget which batches it holds, at its next checkpoint.",
    ),
)
