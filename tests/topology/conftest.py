"""Collected by `make test-topology` alone: it starts a dozen processes and takes five minutes."""

from __future__ import annotations

import os

if not os.environ.get("ELSINORE_TOPOLOGY"):
    collect_ignore_glob = ["test_*.py"]
