"""Report Delta table features that delta-rs cannot handle, with the SQL that removes them.

Spark users of a lake may turn such features on. A retry cannot help then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deltalake.exceptions import DeltaError

from elsinore.errors import SetupError

#: Messages of delta-rs (1.6) about features, from its reader, its writer and its kernel.
_NAMED = (
    re.compile(r"reader features: \{([^}]*)\}"),
    re.compile(r"[Uu]nsupported table features(?: required)?: \[(.*?)\](?!\w)"),
    re.compile(r"Feature '?(\w+)'? is not supported"),
)
#: Messages of delta-rs that do not name the feature, with the feature.
_IMPLIED = {
    "append-only": "appendOnly",
    "Max catalog version": "catalogManaged",
    "[Cc]olumn mapping": "columnMapping",
    "minimum reader version is 2": "columnMapping",
    "Failed to read checkpoint|v2 ?[Cc]heckpoint": "v2Checkpoint",
}
#: Feature names in Rust that are not Delta's names with a capital letter.
_RENAMED = {"clusteredTable": "clustering", "materializePartitionColumns": "clustering"}
#: Features that are removed together with the features that need them.
_NEEDED_BY_OTHERS = frozenset({"domainMetadata", "invariants", "vacuumProtocolCheck"})
#: Features that `ALTER TABLE ... DROP FEATURE` of Delta 4 removes.
_DROPPED = frozenset({
    "catalogManaged", "catalogOwned-preview", "checkConstraints", "checkpointProtection",
    "columnMapping", "deletionVectors", "domainMetadata", "inCommitTimestamp", "rowTracking",
    "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck",
})  # fmt: skip
#: Removable features that only writers need: no older version of the table has to be deleted.
_OF_WRITERS = frozenset({"checkConstraints", "domainMetadata", "inCommitTimestamp", "rowTracking"})
#: Features that remain after the feature that needs them is dropped.
_LEFT_BEHIND = {"rowTracking": "domainMetadata"}
#: Messages of delta-rs if another writer was first.
_CONFLICT = re.compile(
    "concurrent transaction|since last commit|existing table version|version .*exists"
    "|does not follow|Failed to commit transaction|commit attempts",
    re.IGNORECASE,
)


def is_conflict(error: DeltaError) -> bool:
    """Return whether a commit failed because another writer was first."""
    return _CONFLICT.search(str(error)) is not None


@contextmanager
def feature_failures(table: Path) -> Iterator[None]:
    """Raise errors of delta-rs about table features as SetupError, with the fix."""
    try:
        yield
    except DeltaError as error:
        if features := features_of(str(error)):
            raise unsupported(table, features) from error
        raise


def features_of(text: str) -> list[str]:
    """Return the names of table features that an error of delta-rs is about.

    >>> features_of("Unsupported table features required: [RowTracking, DomainMetadata]")
    ['rowTracking']
    """
    names = [
        name for pattern in _NAMED for match in pattern.findall(text) for name in _names(match)
    ]
    names = names or [name for said, name in _IMPLIED.items() if re.search(said, text)]
    own = [name for name in names if name not in _NEEDED_BY_OTHERS]
    return sorted(dict.fromkeys(own or names))


def _names(text: str) -> Iterator[str]:
    """Yield the names in a list of Rust or Python in Delta's spelling."""
    for word in re.findall(r"[\w-]+", text.replace("Unknown", "")):
        name = word[0].lower() + word[1:]
        yield _RENAMED.get(name, name)


def unsupported(table: Path, features: Sequence[str]) -> SetupError:
    """Return the error of a table with features that delta-rs cannot handle."""
    plural = "s" if len(features) > 1 else ""
    return SetupError(
        f"the table {table.name} uses the Delta feature{plural} {', '.join(features)}, which "
        "delta-rs cannot handle",
        hint=how_to_remove(table, features),
        table=table.name,
        features=list(features),
    )


def how_to_remove(table: Path, features: Sequence[str]) -> str:
    """Return the Spark SQL that removes features from a table, or another fix."""
    if kept := [name for name in features if name not in {*_DROPPED, "appendOnly"}]:
        return (
            f"Delta cannot drop {', '.join(kept)}: set ELSINORE_HOME to a new directory, and "
            "ingest the raw files again"
        )
    name = f"delta.`{table}`"
    behind = [_LEFT_BEHIND[feature] for feature in features if feature in _LEFT_BEHIND]
    statements = [f"ALTER TABLE {name} {_removal(each)}" for each in [*features, *behind]]
    again = any(each.endswith("HISTORY") for each in statements)
    return f"run in Spark: {'; '.join(statements)}" + "; repeat it if Delta asks to wait" * again


def _removal(feature: str) -> str:
    """Return the clause that removes a feature, after `ALTER TABLE` and the table's name."""
    if feature == "appendOnly":
        return "UNSET TBLPROPERTIES ('delta.appendOnly')"
    quoted = f"'{feature}'" if "-" in feature else feature
    return f"DROP FEATURE {quoted}" + " TRUNCATE HISTORY" * (feature not in _OF_WRITERS)
