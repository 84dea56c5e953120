"""Fetches the jars named in ivy.xml with the Ivy that PySpark ships, and checks their hashes.

    python fetch_jars.py [--pin] TARGET

TARGET ends up holding exactly the jars of jars.sha256, or is left as it was. If it holds them
already, nothing is fetched. `--pin` fetches anew and writes jars.sha256 from what came.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINS = HERE / "jars.sha256"


class JarError(Exception):
    """The jars could not be fetched or are not the pinned ones; the text says what to do."""


def read_pins(path: Path) -> dict[str, str]:
    """Returns file name to SHA-256 (hex) from lines of the form `hash  name`."""
    pairs = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {name: digest for digest, name in pairs}


def hashes_of(directory: Path) -> dict[str, str]:
    """Returns file name to SHA-256 (hex) of every jar in `directory`."""
    return {
        jar.name: hashlib.sha256(jar.read_bytes()).hexdigest()
        for jar in sorted(directory.glob("*.jar"))
    }


def ivy_jar() -> Path:
    """Returns the Ivy jar of the installed PySpark, found without importing PySpark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarError("PySpark is not installed: call `make setup`.")
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if len(found) != 1:
        raise JarError(f"PySpark ships {len(found)} Ivy jars, one was expected.")
    return found[0]


def retrieve(into: Path, cache: Path) -> None:
    """Downloads the jars of ivy.xml into `into`, with `cache` (absolute) as Ivy's own directory.

    Raises JarError if that fails; what Ivy said is then in ivy.log beside the jars.
    """
    home = os.environ.get("JAVA_HOME")
    command = [
        str(Path(home) / "bin" / "java") if home else "java",
        f"-Delsinore.ivy.cache={cache}",
        "-jar", str(ivy_jar()),
        "-settings", str(HERE / "ivysettings.xml"),
        "-ivy", str(HERE / "ivy.xml"),
        "-retrieve", str(into / "[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise JarError("Java 17 is missing: install it, or point JAVA_HOME at it.") from error
    if done.returncode != 0 or not any(into.glob("*.jar")):
        log = into.parent.parent / "ivy.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        raise JarError(
            f"The central Maven repository could not be reached ({log} has the details); behind a "
            "proxy set JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=... -Dhttps.proxyPort=...'."
        )


def check_pins(found: dict[str, str], pins: dict[str, str]) -> None:
    """Raises JarError unless `found` has the names and hashes of `pins`."""
    for name in sorted(found.keys() | pins.keys()):
        if found.get(name) != pins.get(name):
            raise JarError(
                f"{name}: SHA-256 is {found.get(name)}, {PINS.name} says {pins.get(name)}."
            )


def fetch(target: Path, pin: bool) -> None:
    """Brings `target` to the pinned jars; with `pin`, pins what the repository gives now."""
    target.mkdir(parents=True, exist_ok=True)
    if not pin and hashes_of(target) == read_pins(PINS):
        return
    # Inside the target: a rename within one file system leaves no half-written jar behind.
    with tempfile.TemporaryDirectory(dir=target, prefix="part-") as scratch:
        fresh = Path(scratch) / "jars"
        fresh.mkdir()
        retrieve(fresh, Path(scratch) / "cache")
        found = hashes_of(fresh)
        if pin:
            lines = [f"{digest}  {name}\n" for name, digest in sorted(found.items())]
            PINS.write_text("".join(lines), encoding="ascii")
        check_pins(found, read_pins(PINS))
        for old in target.glob("*.jar"):
            if old.name not in found:
                old.unlink()
        for name in found:
            (fresh / name).replace(target / name)


def main() -> int:
    """Runs the command line; returns 0, or 1 after one line on stderr."""
    parser = argparse.ArgumentParser(description="Fetch the pinned jars.")
    parser.add_argument("target", type=Path)
    parser.add_argument("--pin", action="store_true", help="rewrite jars.sha256")
    arguments = parser.parse_args()
    try:
        fetch(arguments.target.resolve(), arguments.pin)
    except JarError as error:
        sys.stderr.write(f"jars: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
