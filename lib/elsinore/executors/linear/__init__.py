"""The executors sweep, aseq and sharon: queries without conditions on pairs of events.

Without edge predicates, the predecessors of an event are all earlier events of some states. So an
event is a linear map on all counts, and a state needs one value, whatever the number of its events.

Papers: A-Seq and Sharon (Poppe et al., ICDE 2018), sections 3.2 and 3.3, for queries of fixed
length; Hamlet (Poppe et al., SIGMOD 2021), Table 3 (bursts in closed form) and section 3.1 (panes),
for the sweep. docs/internals/sweep.md describes the sweep.

**Clauses.** `sweep_sets.sweep_refusals`: the sweep refuses edge predicates, NOT, AND, semantics
other than skip-till-any-match, trends with different keys, one attribute in several keys, and
ambiguous patterns. `template.support.aseq_refusals`: aseq and sharon refuse all patterns except for
a sequence of single events, other semantics, and edge predicates. Both run all aggregates. Cached
panes (`cached_panes.cache_refusals`) also need every key in each event.

**The path of a swept unit** (`plan.units.SweepUnit`):

1. Tables: `sweep_tables.lower_window` writes the effect of each event class on all queries with one
   window clause (`kernels.sweep_program`). `doubling_tables` does it for counts whose only `+` is
   at the end.
2. Entries: `input.entries.make_entries`, once for all queries of the set. `input.weights` weighs
   the events. `sweep.make_runs` divides the windows among threads.
3. Kernel: `run.run_sweep` calls `kernels.sweep.sweep`, window by window and burst by burst. If
   windows overlap, `panes.run_panes` multiplies panes instead (`kernels.sweep_panes`).
   `run.run_wide` repeats windows that overflow.
4. Window rows: `run.take_rows` converts the output buffer. `output.window_rows.partial_rows` adds
   up the partitions of a group.

**The path of a unit of segments** (`plan.units.SegmentsUnit`): `chains` divides the queries into
symbols and shared segments, and `segment_tables.lower_segments` writes their operations.
`segments.run_passes` runs `kernels.segments.run_lanes`, with one lane per open window. Windows in
which a sum overflows a double are returned as `segments.Overflowed`, and greta computes them.

**The path of a unit of cached panes** (`plan.units.CachedPanesUnit`): `cached_panes` sweeps the
rows of panes once, and multiplies them to windows. The tasks of `spark.pane_tasks` cache the rows
between runs. Without a cache, the unit is swept.

**Number formats.** The sweep: int64, then digits of 56 bits with delayed carries, and doubles with
an exponent (`kernels.digits`). Doublings: digits of 32 bits (`kernels.doublings`). Segments: planes
of 28 bits, each row as wide as it needs (`kernels.planes`), and plain doubles. Pane products:
int64; larger windows are swept. Extremes are int64 ranks.

**To add a kind of accumulator**, edit:

- `kinds.Kind`, the rules in `aggregates`, and `input.weights`;
- `kernels.sweep_program`: the columns of heads for the kind; `kernels.sweep._carry` and
  `_write_rows`: how cells gain and are written;
- `kernels.segments`: two operations, to add and to weigh, and `_close`; `segment_tables._ADDING`
  and `_WEIGHING`;
- `output.state_columns`: how columns add up and multiply;
- `output.partial_rows.Shape`, `output.window_rows` and `output.wire`.

**To add a window policy**, edit `windows`, and each place that computes with WITHIN and SLIDE:
`sweep.make_runs`, `kernels.sweep`, `kernels.sweep_panes`, `kernels.doublings`, `kernels.segments`
(`Clause`, `_tick`, `_close`), `chains` (the number of open windows) and `cached_panes`.
"""
