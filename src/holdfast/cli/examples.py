"""What people type: the examples at the end of every help page."""

from __future__ import annotations

EXAMPLES = {
    "accept": ("holdfast accept readings HF606:3f9a1c --root s3://lake/streams",),
    "adopt": (
        "holdfast adopt s3://lake/checkpoints/orders --code jobs/orders.py",
        "holdfast adopt /srv/checkpoint --sink /srv/lake/orders --event-log /srv/spark-events",
        "holdfast adopt /srv/checkpoint --code jobs/orders.py --sink env:DSN#orders -o a.patch",
    ),
    "apply": (
        "holdfast apply plan.json",
        "holdfast apply plan.json --execute --allow destructive:readings",
        "holdfast apply plan.json --approve --allow destructive:readings",
        "holdfast apply /srv/streams/_holdfast/readings/journal/20261117-040812-9d3c41 --continue",
    ),
    "audit": (
        "holdfast audit jobs/",
        "holdfast audit . --checkpoints s3://lake/checkpoints --format markdown -o audit.md",
    ),
    "backfill": ("holdfast backfill jobs.streams:lake copy --from 4 --to 9 --execute",),
    "check": (
        "holdfast check jobs.streams:lake --stream readings",
        "holdfast check jobs/orders.py --event-log s3://logs/spark-events -- --env production",
    ),
    "diagnose": (
        "holdfast diagnose s3://lake/streams/readings --sink s3://lake/readings",
        "holdfast diagnose readings --root /srv/streams --probe",
        "kubectl logs DRIVER | holdfast diagnose /srv/checkpoint --error -",
    ),
    "doctor": ("holdfast doctor --remote sc://spark.internal:15002 --secret env:DSN",),
    "drill": (
        "holdfast drill list",
        "holdfast drill run app:stream --source-sample .",
    ),
    "evidence": ("holdfast evidence /srv/checkpoint --error driver.log -o evidence.zip",),
    "facts": (
        "holdfast facts readings --root s3://lake/streams --format json",
        "holdfast facts /srv/checkpoint --sink /srv/lake/orders --code jobs/orders.py",
    ),
    "fleet": (
        "holdfast fleet scan s3://lake/checkpoints s3://lake2/checkpoints",
        "holdfast fleet scan /srv/checkpoints --owner '^([^/]+)/' --to scans/",
        "holdfast fleet scan s3://lake/checkpoints --since scans/ --to scans/",
        "holdfast fleet scan --paths inventory.csv.gz --to scans/",
        "holdfast fleet diff yesterday.parquet scans/",
    ),
    "inspect": (
        "holdfast inspect s3://lake/streams/readings",
        "holdfast inspect /srv/streams",
        "holdfast inspect /srv/checkpoint --batch 41",
        "holdfast inspect /srv/checkpoint --cost",
    ),
    "ledger": ('holdfast ledger ddl --role streams | psql "$DSN"',),
    "lint": (
        "holdfast lint src/",
        "holdfast lint src/ --format github --baseline lint.json",
    ),
    "mcp": (
        "holdfast mcp --root s3://lake/streams --root /srv/jobs",
        "holdfast mcp --root /srv/streams --allow-apply",
    ),
    "pipeline": ("holdfast pipeline show jobs.streams:lake",),
    "plan": (
        "holdfast plan resume readings --root s3://lake/streams -o plan.json",
        "holdfast plan reset readings --root ROOT --from earliest --output truncate -o plan.json",
        "holdfast plan rewind readings --root s3://lake/streams --to-batch 40 -o plan.json",
    ),
    "prove": ("holdfast prove jobs.streams:lake readings",),
    "rules": (
        "holdfast rules list",
        "holdfast rules explain HF606",
    ),
    "skill": ("holdfast skill",),
    "state": (
        "holdfast state s3://lake/streams/usage",
        "holdfast state s3://lake/streams/usage --key product=42",
        'holdfast state /srv/checkpoint --operator 0 --key "window.start=2026-11-16 03:00:00"',
    ),
    "undo": ("holdfast undo /srv/streams/_holdfast/readings/journal/20261117-040812-9d3c41",),
}
"""By verb. Each is a command that is complete but for the places that it names."""


def as_epilog(verb: str) -> str:
    """Return the examples of a verb as click shows them, each on a line of its own."""
    lines = "\n".join(f"  {each}" for each in EXAMPLES[verb])
    return f"\b\nExamples:\n{lines}"
