"""The pictures of the documentation, drawn: `python -m docsite.pictures` writes docs/assets/*.svg.

A test compares the files with what is drawn here.
"""

from __future__ import annotations

from pathlib import Path

from docsite.drawing import Drawing

ASSETS = Path(__file__).parents[1] / "docs/assets"


def architecture() -> Drawing:
    """Draw what Holdfast adds to a query, and who writes what."""
    picture = Drawing(960, 470, "What Holdfast adds to a streaming query")
    picture.box("plain", (24, 78), (136, 90), "Source", "Kafka, files,", "Delta")
    picture.box("panel", (208, 24), (462, 166), "Driver: your program, hf.start(…)")
    picture.box(
        "spark", (226, 66), (196, 104), "Spark query", "plans, computes and", "retries batches"
    )
    picture.box(
        "ours",
        (456, 66),
        (196, 104),
        "Holdfast",
        "checks each start, then",
        "decides: apply or skip",
    )
    picture.box("panel", (756, 24), (180, 226), "Sink")
    picture.box("sink", (774, 60), (144, 72), "Rows", "complete batches")
    picture.box("ours", (774, 158), (144, 72), "Ledger", "last batch, epoch")
    picture.box("panel", (208, 282), (462, 164))
    picture.words("title", (446, 306), "Root: disk or bucket")
    picture.box(
        "spark", (226, 324), (196, 104), "Checkpoint", "offsets, commits,", "sources, state"
    )
    picture.box("ours", (456, 324), (196, 104), "Record", "leases, contracts,", "runs, acceptances")
    picture.box("ours", (24, 324), (144, 104), "inspect", "reads without", "Spark, never", "writes")
    picture.arrow((160, 122), (224, 122))
    picture.arrow((422, 122), (454, 122))
    picture.arrow((652, 104), (772, 96))
    picture.arrow((652, 140), (772, 192))
    picture.words("soft", (712, 128), "one commit", anchor="middle")
    _between_driver_and_root(picture)
    picture.arrow((226, 376), (170, 376), kind="dashed")
    for number, (kind, text) in enumerate(
        (("spark", "Spark's, unchanged"), ("ours", "Holdfast's"), ("sink", "your data"))
    ):
        picture.box(kind, (756, 332 + 34 * number), (24, 22))
        picture.words("text", (790, 348 + 34 * number), text)
    return picture


def _between_driver_and_root(picture: Drawing) -> None:
    picture.arrow((270, 170), (270, 322))
    picture.words("soft", (280, 226), "written by")
    picture.words("soft", (280, 242), "every batch")
    picture.arrow((400, 324), (490, 172), kind="dashed")
    picture.words("soft", (376, 226), "read at")
    picture.words("soft", (376, 242), "a start")
    picture.arrow((626, 170), (626, 322))
    picture.words("soft", (548, 226), "heartbeat")
    picture.words("soft", (548, 242), "every 10 s")


def batch() -> Drawing:
    """Draw a batch from its plan to its end, and what a kill means at each moment."""
    picture = Drawing(960, 436, "The life of one batch, and what a kill means at each moment")
    for name, y in (("Spark", 16), ("Holdfast", 108), ("Sink", 200), ("Killed here:", 292)):
        picture.box("panel", (16, y), (928, 128 if y == 292 else 84))
        picture.words("title", (30, y + 26), name)
    picture.box("spark", (112, 30), (126, 56), "offsets/41", "fixes the range")
    picture.box("spark", (262, 30), (384, 56), "computes the rows", "at every retry the same range")
    picture.box("spark", (728, 30), (122, 56), "commits/41", "done")
    picture.box("ours", (262, 122), (100, 56), "S1 check", "same range?")
    picture.box("ours", (370, 122), (144, 56), "S3 decide", "apply, skip, refuse")
    picture.box("ours", (522, 122), (124, 56), "S4, S5 write", "rows and ledger")
    picture.box("ours", (670, 122), (102, 56), "S7 return", "to Spark")
    picture.box("plain", (372, 214), (274, 56), "an open transaction", "readers see nothing of it")
    picture.box("sink", (670, 214), (180, 56), "S6 COMMIT", "rows and ledger at once")
    for x in (250, 658, 860):
        picture.line("kill", (x, 16), (x, 420))
    _after_a_kill(picture)
    return picture


def _after_a_kill(picture: Drawing) -> None:
    """Write into each zone what the next start does."""
    zones = (
        (138, "not planned", ("Spark plans batch", "41 anew")),
        (
            454,
            "planned, and not in the sink",
            ("Spark runs it again with the same range,", "and Holdfast writes it"),
        ),
        (759, "in the sink", ("Spark runs it again,", "and Holdfast skips it")),
        (903, "done", ("batch 42", "is next")),
    )
    for x, head, lines in zones:
        picture.words("red", (x, 346), head, anchor="middle")
        for number, line in enumerate(lines):
            picture.words("text", (x, 370 + 20 * number), line, anchor="middle")


PICTURES = {"architecture.svg": architecture, "batch.svg": batch}


def main() -> None:
    """Write every picture."""
    for name, draw in PICTURES.items():
        (ASSETS / name).write_text(draw().svg())


if __name__ == "__main__":
    main()
