"""The executor hamlet: a sharable set of queries, which decides per burst whether they share.

Paper: Hamlet (Poppe et al., SIGMOD 2021), sections 3 and 4. Queries with a common Kleene plus E+
have one merged template. A burst is a run of events of one type between two window borders. The
queries that share a burst propagate expressions over snapshots once, instead of counts for each
query (Algorithm 1). Equation 7 compares the costs for each burst.

**Clauses.** `sharing.sharable.sharable_sets` returns the sets: queries of skip-till-any-match with
one template, a Kleene plus in common, equal partition keys, and no NOT and no AND. Their windows,
aggregates and edge predicates may differ. A set has at most `sharable.LARGEST_SET` queries. Other
queries of the workload run by greta, so `template.support.greta_refusals` applies to `--executor
hamlet`. If a set needs more than `aggregate_set.LARGEST_SCRATCH` bytes, `aggregate_set` returns
None and `plan.units.HamletUnit` runs its queries by greta.

**The path of a unit** (`plan.units.HamletUnit`):

1. Tables: `sharing.merged.merge_templates` merges the templates. `tables.make_tables` lowers them
   to the tables of `kernels.graph`: starts, ends, links, own additions, and runs of queries that
   loop alike.
2. Entries: `input.entries.make_entries` and `at_states`. Each bit of an entry's `accepts` is a
   class of queries that admit the event. `aggregate_set.prepare` adds windows and weights and
   returns `kernels.graph.MergedGraph`.
3. Kernel: `kernels.propagate.share_propagation` takes the events burst by burst. `kernels.decide`
   chooses the queries that share it, with the policy of `decisions`. `kernels.coefficients` runs a
   burst with edge predicates, `kernels.collapsed` one without them. `kernels.steps` runs single
   events, and `kernels.windows` opens and closes windows.
4. Window rows: `aggregate_set` yields `output.window_rows.WindowRows` by precision level, and
   `partial_rows` adds up the partitions of a group. `observe` records decisions for reports.

**Number formats.** A value is a lane: one per open window of a query, for each of its accumulators.
The precision levels are as in greta (`numbers.rows`): int64 and doubles, then limbs of 64 bits and
doubles with an exponent. A window with a lane that overflows is repeated at the next level.
Coefficients are int64 with a limit. Only integer accumulators can be expressions over snapshots;
queries with sums of doubles or extremes run alongside, each with its own lanes.

**To add a kind of accumulator**, edit:

- `kinds.Kind`, the rules in `aggregates`, and `input.weights`;
- `kernels.graph`: the columns of `QUERY` for the kind, and a column of weights of `MergedGraph`;
- `kernels.lanes`: add, clear and copy lanes; `kernels.weights`: weigh them;
- `aggregate_set._queries` and `_output`;
- `numbers.rows`, `output.window_rows` and `output.wire`.

**To add a window policy**, edit `windows`, `input.kernels.entries.find_spans`, `kernels.windows`
(which compute with `slide` and `within` of `QUERY`), `aggregate_set.prepare` (lanes per query) and
`aggregate_set._climb` (the longest window).
"""
