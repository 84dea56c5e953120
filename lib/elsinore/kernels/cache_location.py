"""The directory of compiled kernels."""

import hashlib
import os
import stat
import tempfile
from errno import EACCES
from pathlib import Path

_HERE = Path(__file__).parent


def cache_folder(named: str = "") -> Path:
    """Return the directory of compiled kernels, one for each state of their sources.

    Numba checks the file of the function that it loads, but not the files of the functions
    compiled into it: after a change of one kernel file the others would keep its old code, also in
    a folder that outlives the installation. Several machines may share one.

    Code is loaded from the directory, so other users must not be able to write to it. Elsinore
    uses the named directory, else that of the sources, else the user's cache, else a new one.
    """
    digest = hashlib.sha256()
    for source in sorted(_HERE.glob("*.py")):
        digest.update(source.read_bytes())
    return base_folder(named) / f"compiled-{digest.hexdigest()[:16]}"


def base_folder(named: str = "") -> Path:
    """Return the directory with one directory of kernels for each state of the sources.

    Raises:
        PermissionError: another user controls the directory that is named.
    """
    if named:
        _require_safe(Path(named))
        return Path(named)
    if os.access(_HERE, os.W_OK):
        return _HERE / "__pycache__"
    try:
        of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        kept = of_user / "elsinore" / "kernels"
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(kept, os.W_OK) and not _writers(kept):
            return kept
    except (OSError, RuntimeError):  # no such home, or none of one's own
        pass
    return Path(tempfile.mkdtemp(prefix="elsinore-kernels-"))


def _require_safe(named: Path) -> None:
    """Refuse an existing directory that another user controls; create a missing one."""
    named.mkdir(mode=0o700, parents=True, exist_ok=True)
    if writers := _writers(named):
        problem = f"{writers} can write to this NUMBA_CACHE_DIR, from which code is loaded"
        raise PermissionError(EACCES, problem, str(named))


def _writers(directory: Path) -> str:
    """Return who else can write to a directory.

    The group may: volumes of Kubernetes belong to root and to a group.
    """
    status = directory.stat()
    if status.st_uid not in (0, os.geteuid()):
        return f"user {status.st_uid}"
    return "every user" if status.st_mode & stat.S_IWOTH else ""
