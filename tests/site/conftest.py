"""Collected by `make test-site` only: it needs the built site and the Debian package chromium."""

from __future__ import annotations

import os

#: It runs in the environment of the documentation's programs, which has Playwright.
collect_ignore = ["open_pages.py"]

if not os.environ.get("ELSINORE_SITE"):
    collect_ignore_glob = ["test_*.py"]
