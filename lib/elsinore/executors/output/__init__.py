"""The output of all executors: totals of windows, partial rows, and results.

| stage | module | result |
|---|---|---|
| totals of windows | `window_rows.WindowRows` | arrays, by partition, window and query |
| partitions of one group | `window_rows.combine_groups` | fewer rows, still as arrays |
| rows that tasks exchange | `wire` | `PARTIAL_SCHEMA`; `merge_partials` adds up equal groups |
| values of aggregates | `finish` | `ResultRow`, or the long table of results |

Integers are exact: int64, limbs, or Python integers (`window_rows.exact`), and decimal text in
partial rows. Sums of doubles are `mantissa * 2**exponent` (`scaled`). `finish` applies the rules of
`executors.aggregates`.

A new kind of accumulator needs a column in `WindowRows`, `PARTIAL_SCHEMA` and `States`, its total
in `window_rows._added_up` and `wire.merge_partials`, and a method of `aggregates.States`. A new
window policy needs `window_rows._table`, which computes the bounds of windows.
"""
