"""`python -m holdfast` is the same command as `holdfast`."""

from __future__ import annotations

from holdfast.cli.main import run

if __name__ == "__main__":
    run()
