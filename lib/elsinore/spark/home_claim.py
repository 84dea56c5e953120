"""Claim a home in S3 for one Spark server.

Delta's log store for S3 checks whether a version exists, and then writes it without a condition. So
two Spark servers that write one table can lose commits. An object in the home contains the name of
the only server whose sessions may write. It remains after the server ends, until `elsinore stop`.
"""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from elsinore.errors import SetupError, storage_failures
from elsinore.places import first_text, scheme
from elsinore.settings import Settings

#: The object with the name of the server.
CLAIM = "spark-server"


def claim_home(settings: Settings, folder: Path | None) -> None:
    """Claim a home in S3 for the server of the settings; other homes need no claim.

    Args:
        settings: The home, and the address of a server of others.
        folder: The directory of the embedded server; None: it is a server of others.

    Raises:
        SetupError: another server has claimed the home, or the store refuses access.
        StoreError: the store does not answer.
    """
    if scheme(settings.home) != "s3":
        return
    claim, own = settings.home / CLAIM, _name(settings, folder)
    with storage_failures():
        owner = first_text(claim, own)
    if owner != own:
        raise SetupError(
            f"another Spark server writes {settings.home}: {owner[:200]!r}",
            hint=f"use that server; if it is not used any more, delete the object {claim}",
        )


def release_home(settings: Settings, folder: Path) -> None:
    """Give up the claim of an embedded server that has ended.

    Raises:
        SetupError: the store refuses access.
        StoreError: the store does not answer.
    """
    if scheme(settings.home) != "s3":
        return
    claim = settings.home / CLAIM
    with storage_failures():
        if claim.exists() and claim.read_text() == _name(settings, folder):
            claim.unlink(missing_ok=True)


def _name(settings: Settings, folder: Path | None) -> str:
    """Return the name of a server; it differs between machines, also if a home was copied."""
    if folder is None:
        return settings.spark_master
    file = folder / CLAIM
    if not file.exists():
        # Callers hold the lock of the directory.
        file.write_text(secrets.token_hex(8))
    return f"{socket.gethostname()}:{folder} {file.read_text()}"
