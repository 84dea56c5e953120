"""What sets are predicted to cost: amounts of work counted by hand, and what follows from them."""

from __future__ import annotations

import pytest

from elsinore.engine.hamlet.amounts import greta_amounts, hamlet_amounts, members_bytes
from elsinore.engine.hamlet.costs import NAMES, load_costs
from elsinore.engine.hamlet.predict import LARGEST, costs_of, predict_set
from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.plan.sets import choose_sets, in_words, planned_sets, sets_of
from elsinore.errors import PlanError
from elsinore.lowering.sharable import SharableSet
from elsinore.query.bound import Workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.profile import (
    BurstLengths,
    EdgeSelectivity,
    LocalSelectivity,
    Spread,
    StreamProfile,
)
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind

#: In 100 ticks: 10 A, 40 B, 5 C; of key k 4 values, of k and m 8.
STATISTICS = Statistics.given(100, {"A": 10, "B": 40, "C": 5, "D": 0}, {("k",): 4, ("k", "m"): 8})
PLAIN = "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 20 SLIDE 10"
OTHER = PLAIN.replace("SEQ(A", "SEQ(C")
GENERAL = "(B.x + NEXT(B).m) % 10 = 0"


def _set(*queries: str) -> SharableSet:
    (found,) = sets_of(bind(queries)).sets
    return found


def _greta(number: int, found: SharableSet, stream: Stream) -> dict[str, float]:
    return greta_amounts(found.queries[number], found.merged.templates[number], stream)


def _profile(
    bursts: tuple[BurstLengths, ...] = (),
    local: tuple[LocalSelectivity, ...] = (),
    edges: tuple[EdgeSelectivity, ...] = (),
) -> StreamProfile:
    return StreamProfile(
        workload_fingerprint="w", observed=(0, 100), pane=10, rates=(), partitions=(),
        bursts=bursts, local=local, edges=edges,
    )  # fmt: skip


def test_greta_without_edge_predicates() -> None:
    """50 events in 2 windows each: 8 B and 2 A a window, counts of about 9 bits fit one limb."""
    found = _set(PLAIN, "RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 20")
    amounts = _greta(0, found, Stream(STATISTICS))
    assert (amounts["call"], amounts["entry"], amounts["keyed"]) == (1, 50, 0)
    assert (amounts["step"], amounts["wide"]) == (100, 0)
    assert amounts["window"] == 100 / 10 + 2
    # The rarer of both is A: of 2 a window on average none comes in one of e^2.
    assert amounts["row"] == pytest.approx(12 * (1 - 2.718281828459045**-2))
    assert (amounts["joined"], amounts["program"], amounts["compared"]) == (0, 0, 0)


def test_greta_with_pairs_keys_and_what_a_profile_says() -> None:
    """Half of B pass x > 3: 20, of 4 partitions 5 each, in a window of 20 ticks 1.

    Each of 20 arriving events, in 1 window, meets half of that; the program has 7 steps.
    """
    text = f"RETURN COUNT(*), SUM(B.x) PATTERN B+ WHERE [k] AND B.x > 3 AND {GENERAL} WITHIN 20"
    found = _set(text, text)
    local = LocalSelectivity(
        event_type="B", condition="B.x > 3", queries=("q1", "q2"), events=10, passed=5
    )
    edge = EdgeSelectivity(
        earlier="B", later="B", condition="c", queries=("q1", "q2"), keys=("k",), within=20,
        pairs=100, sampled=100, share=0.1,
    )  # fmt: skip
    stream = Stream(STATISTICS, (_profile(local=(local,), edges=(edge,)),))
    amounts = _greta(0, found, stream)
    assert (amounts["entry"], amounts["keyed"]) == (20, 20)
    assert amounts["step"] == 20 * 3  # trends, the sum, and how many values it has
    assert amounts["program"] == pytest.approx(20 * 0.5 * 7)
    assert amounts["added"] == pytest.approx(20 * 0.5 * 0.1 * 3)
    # Four partitions of no group: their rows are added up, three numbers each.
    assert amounts["joined"] == pytest.approx(3 * amounts["row"])


def test_a_query_for_which_there_are_no_events() -> None:
    """No event is of type D, and a trend needs one."""
    found = _set("RETURN COUNT(*) PATTERN SEQ(D, B+) WITHIN 20", PLAIN)
    numbers = {query.name: number for number, query in enumerate(found.queries)}
    amounts = _greta(numbers["q1"], found, Stream(STATISTICS))
    assert {kind for kind, amount in amounts.items() if amount} == {"idle"}
    assert _greta(numbers["q2"], found, Stream(STATISTICS))["idle"] == 0


def test_a_comparison_is_no_program() -> None:
    text = "RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x WITHIN 20"
    amounts = _greta(0, _set(text, text), Stream(STATISTICS))
    assert amounts["program"] == 0
    assert (amounts["compared"], amounts["ordered"]) == (40 * 8 / 2, 0)


def test_a_comparison_over_a_large_window_is_answered_by_order() -> None:
    """Hamlet looks at all pairs of 10,000 events: it was chosen once, and took 80 times as long."""
    texts = ("A", "C")
    found = _set(*(
        f"RETURN COUNT(*) PATTERN SEQ({first}, B+) WHERE B.x < NEXT(B).x WITHIN 20"
        for first in texts
    ))  # fmt: skip
    large = Stream(Statistics.given(20, {"A": 10, "B": 10_000, "C": 10}))
    amounts = _greta(0, found, large)
    assert amounts["compared"] == 0
    assert amounts["ordered"] == pytest.approx(10_000 * 12.288)  # log2(1 + 5,000)
    assert not predict_set(found, large).pays
    assert predict_set(found, Stream(Statistics.given(20, {"A": 1, "B": 40, "C": 1}))).pays


def test_wide_counts_take_several_rungs() -> None:
    """800 B in the window of 2,000 ticks: 800 bits take 16 limbs, after 1, 2, 4 and 8."""
    text = "RETURN COUNT(*) PATTERN B+ WITHIN 2000"
    statistics = Statistics.given(2_000, {"B": 800})
    amounts = _greta(0, _set(text, text), Stream(statistics))
    assert amounts["wide"] == 800 * (2 + 4 + 8 + 16)


def test_hamlet_takes_each_event_once() -> None:
    found = _set(PLAIN, OTHER)
    amounts = hamlet_amounts(found, Stream(STATISTICS))
    assert (amounts["set"], amounts["query"], amounts["entry"]) == (1, 2, 55)
    alone = [_greta(number, found, Stream(STATISTICS)) for number in (0, 1)]
    assert amounts["row"] == sum(each["row"] for each in alone)


def test_bursts_are_those_of_the_profile_or_of_no_order() -> None:
    found = _set(PLAIN, OTHER)
    # In a pane of 10 ticks: 4 B beside 1.5 others, 5.5 / 2.5 a run; A 1 beside 4.5, C 0.5 beside 5.
    by_chance = hamlet_amounts(found, Stream(STATISTICS))["bursts"]
    assert by_chance == pytest.approx(40 / 2.2 + 10 / 1 + 5 / 1)
    long = BurstLengths(
        event_type="B", kleene="B", queries=("q2", "q1"), keys=(), pane=10,
        lengths=Spread.of({4: 10}),
    )  # fmt: skip
    known = Stream(STATISTICS, (_profile(bursts=(long,)),))
    assert hamlet_amounts(found, known)["bursts"] == pytest.approx(40 / 4 + 15)


def test_bursts_cost_what_decisions_are_made_by() -> None:
    """A burst of B by the cheaper way: all lanes at once, or each of its events for each query."""
    text = "RETURN COUNT(*) PATTERN B+ WITHIN 10"
    found = _set(text, text)
    lengths = Spread.of({4: 10})
    burst = BurstLengths(
        event_type="B", kleene="B", queries=("q1", "q2"), keys=(), pane=10, lengths=lengths
    )  # fmt: skip
    amounts = hamlet_amounts(found, Stream(STATISTICS, (_profile(bursts=(burst,)),)))
    costs = dict(zip(NAMES, load_costs().tolist(), strict=True))
    shared = costs["burst"] + 4 * costs["coefficient"] + 2 * costs["product"]
    alone = 4 * (2 * costs["step"] + 2 * costs["addition"])
    assert amounts["burst"] == pytest.approx(10 * min(shared, alone))


def test_pairs_are_looked_at_once_for_all_that_ask_alike() -> None:
    text = f"RETURN COUNT(*) PATTERN B+ WHERE {GENERAL} WITHIN 20"
    other = text.replace("% 10", "% 11")
    two, five = (hamlet_amounts(_set(*[text] * n), Stream(STATISTICS)) for n in (2, 5))
    assert two["program"] == five["program"] > 0
    assert five["added"] == pytest.approx(2.5 * two["added"])
    mixed = hamlet_amounts(_set(text, text, other, other), Stream(STATISTICS))
    assert mixed["program"] == pytest.approx(2 * two["program"])


def test_every_kind_of_work_has_a_cost() -> None:
    found = _set(PLAIN, OTHER)
    assert {*_greta(0, found, Stream(STATISTICS))} == {*costs_of("greta")}
    assert {*hamlet_amounts(found, Stream(STATISTICS))} == {*costs_of("hamlet")}
    for name in ("greta", "hamlet"):
        assert all(cost >= 0 for cost in costs_of(name).values())
        assert any(cost > 0 for cost in costs_of(name).values())


def test_many_queries_with_a_general_predicate_pay_and_few_without_do_not() -> None:
    statistics = Statistics.given(1_000, {"A": 100_000, "B": 1_000_000, "C": 100_000})
    text = f"RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE {GENERAL} WITHIN 1"
    assert predict_set(_set(*[text] * 20), Stream(statistics)).pays
    plain = _set(
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1", "RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 1"
    )
    scattered = tuple(
        BurstLengths(
            event_type=kind, kleene="B", queries=("q1", "q2"), keys=(), pane=1,
            lengths=Spread.of({1: 9}),
        )
        for kind in "ABC"
    )  # fmt: skip
    stream = Stream(statistics, (_profile(bursts=scattered),))
    assert not predict_set(plain, stream).pays


def test_what_takes_too_much_memory_does_not_pay() -> None:
    """5 queries, 1,000 windows each, 10^8 events alive: some 10^13 bytes."""
    statistics = Statistics.given(1_000, {"B": 10**8})
    text = f"RETURN COUNT(*) PATTERN B+ WHERE {GENERAL} WITHIN 1000 SLIDE 1"
    found = _set(*[text] * 5)
    assert members_bytes(found, Stream(statistics)) > 10**12
    prediction = predict_set(found, Stream(statistics))
    assert not prediction.fits
    assert not prediction.pays


def test_rates_beyond_all_measure_still_give_numbers() -> None:
    text = f"RETURN COUNT(*) PATTERN B+ WHERE {GENERAL} WITHIN 1000"
    prediction = predict_set(_set(text, text), Stream(Statistics.given(1, {"B": 1e300})))
    assert prediction.alone == 2 * LARGEST
    assert not prediction.pays


def _planned(*queries: str) -> tuple[Workload, StaticPlan]:
    workload = bind(queries)
    sets = choose_sets(workload, STATISTICS).sets
    return workload, find_plan(workload, STATISTICS, sets=sets)


def test_a_plan_holds_the_sets_whatever_the_order_of_the_queries() -> None:
    texts = {"b": PLAIN, "a": OTHER, "c": PLAIN.replace("20 SLIDE 10", "15")}
    workload, again = bind(texts), bind(dict(reversed(texts.items())))
    plans = [
        find_plan(each, STATISTICS, sets=choose_sets(each, STATISTICS).sets)
        for each in (workload, again)
    ]
    assert plans[0].to_json() == plans[1].to_json()
    (found,) = plans[0].sets
    assert (found.id, found.kleene, found.keys, found.pane) == ("s1", ("B",), (), 5)
    assert {*found.queries} == {"a", "b", "c"}
    # Figure 3(b) of the paper: each type once, what all have is labelled with all.
    labels = {
        (found.states[t.earlier].event_type, found.states[t.later].event_type): {
            found.queries[q] for q in t.queries
        }
        for t in found.transitions
    }
    assert labels == {("A", "B"): {"b", "c"}, ("C", "B"): {"a"}, ("B", "B"): {"a", "b", "c"}}
    ends = {s.event_type: len(s.ends) for s in found.states}
    assert ends == {"A": 0, "B": 3, "C": 0}
    assert planned_sets(again, plans[0]).sets == plans[0].sets
    assert StaticPlan.from_json(plans[0].to_json()) == plans[0]


def test_sets_that_are_not_the_workloads_are_refused() -> None:
    workload, plan = _planned(PLAIN, OTHER)
    (found,) = plan.sets
    forged = [
        (),
        (found, found),
        (found.model_copy(update={"queries": ("q1", "q9")}),),
        (found.model_copy(update={"pane": 7}),),
        (found.model_copy(update={"keys": ("k",)}),),
        (found.model_copy(update={"transitions": found.transitions[1:]}),),
    ]
    for sets in forged:
        with pytest.raises(PlanError, match="not those of the workload"):
            planned_sets(workload, plan.model_copy(update={"sets": sets}))


def test_words_for_people() -> None:
    _, plan = _planned(PLAIN, OTHER)
    figures = {"alone": 4e6, "together": 2e9, "pays": False}
    lost = plan.sets[0].model_copy(update=figures)
    assert in_words(lost) == (
        "could share B+ with 1 other of s1, which does not pay: 2 s together, 4 ms one by one"
    )
    won = lost.model_copy(update={"together": 1e6, "pays": True})
    assert in_words(won) == "shares B+ with 1 other of s1: 1 ms together, 4 ms one by one"
    large = won.model_copy(update={"pays": False})
    assert in_words(large).endswith("but that takes too much memory")
