"""`python -m tests.simulation --seeds 20 --hours 240`: histories of hourly runs in trouble."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from elsinore.spark.server import stop_server
from tests.faults.history import Place
from tests.simulation.simulate import Simulation


def main() -> int:
    """Lives through each seed's history; 1 where any of them went wrong."""
    options = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    options.add_argument("--seeds", type=int, default=1, help="how many histories (1)")
    options.add_argument("--first", type=int, default=0, help="the first seed (0)")
    options.add_argument("--hours", type=int, default=48, help="hours of each (48)")
    options.add_argument("--minutes", type=float, help="end each after so many, and compare")
    chosen = options.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="elsinore-simulation-") as name:
        server = Path(name, "server")
        try:
            for seed in range(chosen.first, chosen.first + chosen.seeds):
                begun = time.monotonic()
                place = Place(home=server, place=Path(name, f"seed-{seed}", "ours"))
                history = Simulation(place, str(seed))
                history.go(chosen.hours, chosen.minutes)
                seconds = time.monotonic() - begun
                print(
                    f"seed {seed}: {history.hours} hours, {len(history.told)} troubles, "
                    f"{history.recomputed} queries recomputed, {seconds:.0f} s",
                    flush=True,
                )
                if history.wrong:
                    failed.append(seed)
                    print("\n".join([*history.told, *history.wrong]), flush=True)
        finally:
            stop_server(Place(home=server, place=Path(name)))
    print(f"wrong: {failed}" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
