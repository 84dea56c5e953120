"""The numbers of the pages on sharing: published, recomputed from the rates, or printed."""

from __future__ import annotations

import re
import shlex
from itertools import chain, combinations
from pathlib import Path

import pytest
import yaml

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import run_command
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.query.syntax import event_patterns
from elsinore.sharing.benefit import weigh
from elsinore.sharing.candidates import mine_candidates
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import load_rates
from tests.unit.sharing.support import golden

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "example"
CONCEPT = (ROOT / "docs" / "concepts" / "sharing.md").read_text(encoding="utf-8")
DETAILS = (ROOT / "docs" / "internals" / "sharing-plan.md").read_text(encoding="utf-8")
#: Each command of the concept page with the text that it prints among other things.
PRINTED = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", CONCEPT, re.MULTILINE | re.DOTALL)
ROWS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in re.findall(r"^\| p\d .*$", DETAILS, re.MULTILINE)
]
RATES = golden("traffic_rates")["rates"]


@pytest.fixture(name="workload", scope="module")
def _workload() -> Workload:
    return load_workload(EXAMPLE / "traffic.sase", load_schema(EXAMPLE / "traffic.yaml"))


@pytest.fixture(name="plan", scope="module")
def _plan(workload: Workload) -> StaticPlan:
    return find_plan(workload, load_rates(EXAMPLE / "traffic_rates.yaml", workload.schema))


def test_the_files_are_the_golden_example(workload: Workload) -> None:
    patterns = {
        query.name: [each.type for each in event_patterns(query.pattern)]
        for query in workload.queries
    }
    assert patterns == golden("traffic_rates")["patterns"]
    stated = yaml.safe_load((EXAMPLE / "traffic_rates.yaml").read_text(encoding="utf-8"))
    assert stated == {"per": 600, "rates": RATES}  # a window of 10 minutes, in seconds
    (query,) = re.findall(r"^```sase\n(.*?)^```$", CONCEPT, re.MULTILINE | re.DOTALL)
    assert query in (EXAMPLE / "traffic.sase").read_text(encoding="utf-8")


def test_the_table_of_candidates(plan: StaticPlan) -> None:
    published = golden("traffic")["candidates"]
    assert [row[0] for row in ROWS] == list(published)
    for paper, name, pattern, queries, saves, conflicts, fate in ROWS:
        found, expected = plan.by_id[name], published[paper]
        assert list(found.pattern) == pattern.split(", ") == expected["pattern"]
        assert list(found.queries) == queries.split(", ") == expected["queries"]
        assert float(saves) == expected["benefit"] == pytest.approx(found.benefit, abs=1e-9)
        assert int(conflicts) == expected["degree"] == found.degree
        assert fate == found.fate
        assert (fate == "chosen") == (paper in golden("traffic")["optimal"]["chosen"])


def test_the_equations_by_hand() -> None:
    first, oak, main, state = (RATES[name] for name in ("FirSt", "OakSt", "MainSt", "StateSt"))
    for name, rate in (("FirSt", first), ("OakSt", oak), ("MainSt", main), ("StateSt", state)):
        assert f"{name} {rate:.3f}" in DETAILS
    alone, prefix, product = (
        first * (first + oak + main + state),
        first * (first + oak),
        main * first,
    )
    gain, once = alone - prefix - product, main * (main + state)
    assert f"{alone:.3f} - {prefix:.3f} - {product:.3f} = {gain:.3f}" in DETAILS
    assert f"{gain:.3f} + {once:.3f} - {once:.3f} = {gain:.3f}" in DETAILS
    assert f"| q1 without sharing | {alone:.3f} |" in CONCEPT
    assert f"| {prefix:.3f} + {product:.3f} |" in CONCEPT
    assert f"| gain of q1 | {gain:.3f} |" in CONCEPT
    assert f"| cost to compute the sub-pattern once | {once:.3f} |" in CONCEPT


def test_the_sums_of_the_algorithms() -> None:
    traffic = golden("traffic")
    published = traffic["candidates"]
    quotients = [f"{c['benefit']}/{c['degree'] + 1}" for c in published.values()]
    total = sum(c["benefit"] / (c["degree"] + 1) for c in published.values())
    assert f"{' + '.join(quotients)} = {total:.2f}" in DETAILS
    for chosen in (["p7", "p1"], traffic["optimal"]["chosen"]):
        benefits = [published[name]["benefit"] for name in chosen]
        assert f"{' + '.join(map(str, benefits))} = {sum(benefits)}" in DETAILS
    assert f"saves {traffic['reduction']['pruned']['p3']} at most" in DETAILS
    assert f"2^7 - 2^5 = {2**7 - 2**5} of {2**7} plans" in DETAILS
    assert f"{2**5} plans remain, and {_valid_plans()} of them are valid" in DETAILS
    p1 = published["p1"]
    assert f"saves {p1['benefit']}, but is in conflict with five other candidates" in CONCEPT
    assert p1["degree"] == 5


def _valid_plans() -> int:
    """Sets of the five candidates that the reduction leaves, no two of which overlap."""
    patterns = golden("traffic_rates")["patterns"]
    places = {}
    for name in ("p1", "p2", "p4", "p5", "p6"):
        shared = golden("traffic")["candidates"][name]
        places[name] = {
            (query, patterns[query].index(shared["pattern"][0]) + step)
            for query in shared["queries"]
            for step in range(len(shared["pattern"]))
        }
    sets = chain.from_iterable(combinations(places.values(), size) for size in range(1, 6))
    return sum(len(set().union(*chosen)) == sum(map(len, chosen)) for chosen in sets)


def test_the_options_of_p1(workload: Workload) -> None:
    statistics = load_rates(EXAMPLE / "traffic_rates.yaml", workload.schema)
    (p1,) = [c for c in mine_candidates(workload) if c.pattern == ("OakSt", "MainSt")]
    savings = weigh(p1, workload, statistics)
    without_q1 = savings.benefit(["q2", "q3", "q4"])
    with_others = f"no conflict with p6, and {without_q1 + 8 + 18:.2f} with p6 and p7"
    assert f"| q2, q3, q4 | {without_q1:.2f}; {with_others} |" in DETAILS
    assert f"| q1, q2 | {savings.benefit(['q1', 'q2']):.2f} |" in DETAILS
    assert f"| q1, q3 | {savings.benefit(['q1', 'q3']):.2f} |" in DETAILS


@pytest.mark.parametrize(("command", "text"), PRINTED, ids=["explain", "gwmin", "plan", "kleene"])
def test_commands_print_what_the_page_says(
    command: str,
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.setenv("COLUMNS", "120")
    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/elsinore"
    assert run_command(arguments) == 0
    assert text in capsys.readouterr().out
    for name in re.findall(r"--plot (\S+)", command):
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<?xml")
