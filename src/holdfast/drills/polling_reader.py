"""A reader beside the drivers: it looks at sinks while these are written and killed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from holdfast.drills.drill import Seen, Write

PERIOD_S = 0.2


@contextmanager
def polling_reader(look: Callable[[], Iterable[Seen]], write: Write) -> Iterator[None]:
    """Look again and again, in a thread; what keeps that from it is raised at the end."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(PERIOD_S):
            write(look())

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(go_on)
        try:
            yield
        finally:
            ended.set()
        reading.result()
