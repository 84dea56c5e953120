"""Write a software bill of materials of jars: CycloneDX 1.6, as JSON.

    python sbom.py OUTPUT DIRECTORY...

It lists every jar below the directories with name, version and SHA-256. Name and version come from
`pom.properties` in the jar, or else from the file name. The same jars give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

#: `name-version`, where a version begins with a digit.
_NAME = re.compile(r"(?P<name>.+?)-(?P<version>\d.*)")
_POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")


def properties(jar: Path) -> dict[str, str]:
    """Return `groupId`, `artifactId` and `version` of a jar; empty if none or ambiguous.

    Jars that contain other jars have their properties, too: the file name decides which ones count.
    """
    found = []
    with zipfile.ZipFile(jar) as archive:
        for name in filter(_POM.fullmatch, archive.namelist()):
            text = archive.read(name).decode("utf-8", "replace")
            pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
            own = {key.strip(): value.strip() for key, _, value in pairs}
            if own.keys() >= {"groupId", "artifactId", "version"} and jar.stem.startswith(
                f"{own['artifactId']}-{own['version']}"
            ):
                found.append(own)
    return found[0] if len(found) == 1 else {}


def component(jar: Path) -> dict[str, Any]:
    """Return a jar as a component of CycloneDX."""
    own = properties(jar)
    named = _NAME.fullmatch(jar.stem)
    name = own.get("artifactId") or (named["name"] if named else jar.stem)
    version = own.get("version") or (named["version"] if named else "")
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    found: dict[str, Any] = {"type": "library", "name": name, "version": version}
    if group := own.get("groupId"):
        found |= {"group": group, "purl": f"pkg:maven/{group}/{name}@{version}"}
    found["hashes"] = [{"alg": "SHA-256", "content": digest}]
    found["properties"] = [{"name": "file", "value": jar.name}]
    return found


def bill(directories: list[Path]) -> dict[str, Any]:
    """Return the bill of all jars below some directories.

    Raises:
        FileNotFoundError: one of them has no jar.
    """
    jars: list[Path] = []
    for directory in directories:
        own = sorted(directory.rglob("*.jar"))
        if not own:
            raise FileNotFoundError(f"no jar below {directory}; `make setup` brings them")
        jars += own
    components = sorted(map(component, jars), key=lambda one: (one["name"], one["version"]))
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}


def main(arguments: list[str]) -> int:
    """Run the command line; return 0, or 1 after one line on stderr."""
    output, *directories = map(Path, arguments)
    try:
        made = bill(directories)
    except (OSError, zipfile.BadZipFile) as error:
        sys.stderr.write(f"sbom: {error}\n")
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(made['components'])} jars in {output}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
