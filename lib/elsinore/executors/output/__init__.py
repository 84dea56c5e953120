"""The output of all executors: totals of windows, partial rows, and results.

| stage | module | result |
|---|---|---|
| totals of windows | `window_rows.WindowRows` | arrays, by partition, window and query |
| partial rows | `window_rows.partial_rows` | `PartialRows`, one row per group and window |
| EACH and DISTINCT | `participation`, given a pass that finds the events | the same |
| rows of several tasks | `partial_rows.merge` | the same, one row per query, group and window |
| exact sums of digits | `digits`, `exact_states` | the same, one column per exact sum |
| rows that tasks exchange | `wire` | `WIRE_SCHEMA`: lists of numbers |
| values of aggregates | `finish` | `ResultRow`, or the long table of results |

Partial rows are columns of numbers (`state_columns`): integers of any size
(`numbers.exact_columns`), sums of doubles with an exponent of their own, and extremes. Integers
become decimal text only in the long table. `finish` applies the rules of `executors.aggregates`.
The rows of a query, of its EACH and DISTINCT, and of its measures (`measures`) are separate until
then.

A new kind of accumulator needs a class in `state_columns`, its columns in `WindowRows`, `Shape` and
`WIRE_SCHEMA`, and a method of `aggregates.States`. A new window policy needs the bounds of windows
in `finish`.
"""
