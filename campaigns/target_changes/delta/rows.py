"""Changes to the rows of a Delta table, and what Delta itself does to its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from campaigns.target_changes.cells import REPLACED, Change, Expected
from campaigns.target_changes.rows import (
    INSERT_THEIRS,
    SCHEMA,
    THEIR_ROW,
    add_theirs,
    first_again,
    first_to_one,
    note_first,
    only_theirs,
    remove_all,
    remove_first,
)
from holdfast.formats.delta_log import LOG

if TYPE_CHECKING:
    from campaigns.target_changes.delta.scene import DeltaScene

_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_NO_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


def their_row(scene: DeltaScene) -> Any:
    """Return the row of another writer as a frame."""
    return scene.theirs.createDataFrame([THEIR_ROW], SCHEMA)


def overwrite(scene: DeltaScene) -> None:
    """Overwrite the table."""
    their_row(scene).write.format("delta").mode("overwrite").save(str(scene.path))


def replace_where(scene: DeltaScene) -> None:
    """Overwrite the rows of the first batch."""
    rows = their_row(scene).selectExpr("CAST(1 AS BIGINT) AS id", "seq", "level", "amount", "note")
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", "id < 10")
    writer.save(str(scene.path))


def restore_to_before(scene: DeltaScene) -> None:
    """Restore the table to what it was before the newest batch."""
    scene.sql(f"RESTORE TABLE {{table}} TO VERSION AS OF {scene.newest() - 1}")


def restore_to_now(scene: DeltaScene) -> None:
    """Restore the table to the version that it has."""
    scene.sql(f"RESTORE TABLE {{table}} TO VERSION AS OF {scene.newest()}")


def vacuum(scene: DeltaScene) -> None:
    """Delete every file that is no longer part of the table."""
    scene.theirs.conf.set(_NO_CHECK, "false")
    scene.theirs.conf.set(_LISTING_TASKS, "2")  # else 10,000, which take two minutes
    scene.sql("VACUUM {table} RETAIN 0 HOURS")


def write_checkpoint(scene: DeltaScene) -> int:
    """Have Delta write a checkpoint of the table; return its version."""
    jvm: Any = scene.theirs._jvm  # noqa: SLF001 - no statement does it
    session = scene.theirs._jsparkSession  # noqa: SLF001
    scene.forget()
    jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session, str(scene.path)).checkpoint()
    return scene.newest()


def clean_up(scene: DeltaScene) -> None:
    """Delete the commits before a checkpoint, as Delta does when they are old enough."""
    version = write_checkpoint(scene)
    for commit in (scene.path / LOG).glob("*.json"):
        if int(commit.stem) < version:
            commit.unlink()
            commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)


def append_and_clean_up(scene: DeltaScene) -> None:
    """Append as another writer, then delete every commit of the stream."""
    scene.sql(INSERT_THEIRS.format("{table}"))
    clean_up(scene)


def commit_twice_and_clean_up(scene: DeltaScene) -> None:
    """Commit twice as another writer; then only the newest commit stays."""
    scene.sql("ALTER TABLE {table} SET TBLPROPERTIES ('n' = '1')")
    append_and_clean_up(scene)


HIDDEN = Expected(
    running="arrived starts arrived", stopped="HF601", during="arrived arrived starts arrived"
)
GAP = Expected(running="TABLE_CHANGED HF601", stopped="HF601", during="arrived TABLE_CHANGED HF608")

ROWS = (
    Change(
        name="TRUNCATE TABLE",
        act=("TRUNCATE TABLE {table}",),
        effect=remove_all,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="DELETE of every row",
        act=("DELETE FROM {table}",),
        effect=remove_all,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="DELETE of every row, by a condition",
        act=("DELETE FROM {table} WHERE id > 0",),
        effect=remove_all,
        why="Holdfast does not judge conditions.",
    ),
    Change(
        name="DELETE of some rows",
        act=("DELETE FROM {table} WHERE id < 10",),
        effect=remove_first,
    ),
    Change(
        name="DELETE of some rows, with deletion vectors",
        act=(
            "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
            "DELETE FROM {table} WHERE id < 10",
        ),
        effect=remove_first,
    ),
    Change(
        name="UPDATE by another writer",
        act=("UPDATE {table} SET note = 'theirs' WHERE id < 10",),
        effect=note_first,
    ),
    Change(
        name="INSERT by another writer",
        act=(INSERT_THEIRS.format("{table}"),),
        effect=add_theirs,
    ),
    Change(
        name="overwritten by another writer",
        act=overwrite,
        effect=only_theirs,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="some rows overwritten with replaceWhere",
        act=replace_where,
        effect=first_to_one,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(
        name="RESTORE to before the last batch",
        act=restore_to_before,
        effect=first_again,
        appended=REPLACED,
        merged=REPLACED,
    ),
    Change(name="RESTORE to the current version", act=restore_to_now),
)

FILES = (
    Change(name="OPTIMIZE", act=("OPTIMIZE {table}",)),
    Change(name="VACUUM", act=vacuum),
    Change(name="log cleaned up, up to the stream's last commit", act=clean_up),
    Change(
        name="log cleaned up, with the stream's last commit",
        act=append_and_clean_up,
        effect=add_theirs,
        appended=HIDDEN,
        merged=HIDDEN,
        why="A running stream remembers its row; a start cannot find it.",
    ),
    Change(
        name="log cleaned up, with commits that the stream had not seen",
        act=commit_twice_and_clean_up,
        effect=add_theirs,
        appended=GAP,
        merged=GAP,
        why="Nobody can tell whether one of those commits emptied the table.",
    ),
)
