"""The executor greta: one query, or a sharable set, as a graph of events.

Paper: GRETA (Poppe et al., VLDB 2017), sections 4 to 9. An event in a state of the template is a
node, and an event that may directly precede it is an edge. Algorithm 2 propagates the accumulators
along the edges, so no trend is built.

**Clauses.** Greta runs every clause of the language, except for patterns in which one trend matches
in several ways and no set of states can merge these ways. `template.support.greta_refusals` gives
the reason. Such queries need twostep. AND runs as three graphs (`aggregate.conjoined_rows`). Sets
(`aggregate_ordered`) have more limits: one window clause, only comparisons of two values as edge
predicates, and only integer accumulators (`aggregate_ordered.ordered_sets`).

**The path of a unit** (`plan.units.AloneUnit`, `OrderedUnit`):

1. Tables: `template.build.build_templates` builds the template, `layout.lay_out` its arrays.
   `input.conditions` compiles edge predicates to programs, or to comparisons for order trees.
2. Entries: `input.entries.make_entries` sorts the events by partition and time, and `at_states`
   assigns them to states. `run_template` finds keys and windows (`input.slots.spans_of`), and
   `weigh_at_states` computes what each entry adds. `build_graph` returns `kernels.graph.Graph`.
3. Kernel: `climb.climb` calls `kernels.propagate.propagate` for all windows. The kernel reads
   predecessors from an accumulator of the state, a slide (`kernels.sliding`: floors of NOT and
   contiguous), a tree (`kernels.trees`: comparisons in large windows), or pairs (`kernels.pairs`).
   `kernels.guards` runs the patterns of NOT.
4. Window rows: `climb` yields `output.window_rows.WindowRows` by precision level.
   `output.window_rows.partial_rows` adds up the partitions of a group.

**EACH and DISTINCT** with conditions on pairs of events read the same graph without counts
(`reach`, `kernels.reach`): a pass forward and a pass backward mark the events of trends. Queries
that compare adjacent events share one graph (`reach_together`, `plan.participation_sets`).

**Spans** without conditions on pairs of events need no window per event: `spans` multiplies
matrices (`kernels.span_products`, `kernels.span_counts`), `wide_spans` counts beyond 64 bits by
remainders (`kernels.span_remainders`), and `span_members` finds the events of trends. `span_sets`
counts several queries together (`plan.units.SpanUnit`). If all conditions are single comparisons,
`compared_spans` counts trends (`kernels.span_compared`, `kernels.span_chains`).

**Squares of measures** are sums over pairs of events of a trend. An event adds its weight times the
sum over earlier events, which is in another column of the row (`run_template.lanes_of_pairs`).

**Number formats.** At the first level, counts are int64 and sums are doubles. If a window does not
fit, `climb` repeats it with 2, 4, 8, ... limbs of 64 bits in two's complement, and with doubles
that have an exponent of their own (`numbers.rows`, `numbers.wide`). The nodes of trees have words
of 54 bits with delayed carries (`kernels.words`). Extremes are int64 ranks, with `NO_RANK` for "no
value".

**To add a kind of accumulator**, edit:

- `kinds.Kind` and the rules in `aggregates`;
- `input.weights`: what an event adds;
- `numbers.rows`: start, add and weigh one row, at each level;
- `kernels.lanes`: the columns of rows, and how a transition and an event change them;
- `kernels.trees`: the columns of nodes;
- `output.window_rows` and `output.wire`: the column, and how rows of a group add up.

**To add a window policy**, edit `windows` and `input.kernels.entries.find_spans`. The kernels of
this folder read windows only as ranges of entries.
"""
