"""The child that is killed: applies or continues a plan, and kills itself at a point.

python -m campaigns.repair_kills.child PLAN apply|continue POINT [writes]
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from campaigns.repair_kills.acting import Way, act
from campaigns.repair_kills.telling import TellingStores
from holdfast.apply.stores import Stores
from holdfast.cli.declared_pipeline import local_session
from holdfast.plan.plan_file import decode_plan


def main() -> None:
    """Apply the plan up to the point."""
    file, way, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    plan = decode_plan(Path(file).read_bytes(), file)
    kind = TellingStores if sys.argv[4:] == ["writes"] else Stores
    stores = kind(session=lambda: local_session("Changing a Delta table"))
    seen: list[str] = []

    def tell(point: str) -> None:
        seen.append(point)
        if len(seen) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    act(plan, Way(way), stores, tell=tell)


if __name__ == "__main__":
    main()
