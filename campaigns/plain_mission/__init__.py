"""A bug in the first stage of a pipeline that Holdfast does not guard, repaired by its commands."""

from __future__ import annotations
