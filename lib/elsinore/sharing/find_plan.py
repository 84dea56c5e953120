"""Finds the static plan of a workload: mining, benefits, conflicts, graph, GWMIN, in this order."""

from __future__ import annotations

from elsinore.query.bound import Workload
from elsinore.sharing.candidates import Candidate, mine_candidates
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.graph import SharonGraph, build_graph
from elsinore.sharing.gwmin import guaranteed_weight, gwmin
from elsinore.sharing.kleene import shared_kleene
from elsinore.sharing.plan import Fate, KleenePart, Occurrence, PlannedCandidate, StaticPlan
from elsinore.sharing.statistics import Statistics
from elsinore.sharing.weigh import weigh


def find_plan(workload: Workload, statistics: Statistics) -> StaticPlan:
    """GWMIN's plan for a workload under the statistics of its stream.

    A pure function: the same workload, in whatever order of its queries, and the same statistics
    give the same plan, byte for byte.

    Raises:
        ParameterError: the statistics lack a type of the workload, or its rates are too large.
    """
    candidates = mine_candidates(workload)
    benefits = {c.id: weigh(c, workload, statistics) for c in candidates}
    graph = build_graph(candidates, benefits)
    chosen = gwmin(graph)
    return StaticPlan(
        workload_fingerprint=workload_fingerprint(workload),
        statistics_fingerprint=statistics.fingerprint,
        candidates=tuple(_story(c, benefits[c.id], graph, chosen) for c in candidates),
        chosen=chosen,
        score=graph.weight(chosen),
        guaranteed_weight=guaranteed_weight(graph),
        kleene=tuple(
            KleenePart(event_type=event_type, queries=queries)
            for event_type, queries in shared_kleene(workload)
        ),
    )


def _story(
    candidate: Candidate, benefit: float, graph: SharonGraph, chosen: tuple[str, ...]
) -> PlannedCandidate:
    near = graph.neighbours.get(candidate.id, frozenset())
    if candidate.id in chosen:
        fate = Fate.CHOSEN
    else:
        fate = Fate.IN_CONFLICT if candidate.id in graph.weights else Fate.NOT_BENEFICIAL
    places = (Occurrence(query=s.query, start=s.start, stop=s.stop) for s in candidate.occurrences)
    return PlannedCandidate(
        id=candidate.id,
        pattern=candidate.pattern,
        occurrences=tuple(places),
        benefit=benefit,
        conflicts=tuple(vertex for vertex in graph.weights if vertex in near),
        fate=fate,
        excluded_by=tuple(vertex for vertex in chosen if vertex in near),
    )
