"""Two drivers that commit one version of a Delta table on S3: by Delta's LogStore and by ours."""

from __future__ import annotations
