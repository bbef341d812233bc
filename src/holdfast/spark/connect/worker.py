"""The process that runs the function of a query: a child of the server, for as long as it lives."""

from __future__ import annotations

import os

PARENT = os.getppid()
"""Who started this process. After its death it is another: a worker can live on for minutes."""
