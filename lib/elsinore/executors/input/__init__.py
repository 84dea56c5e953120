"""The input of all executors: events as columns, entries, weights, programs and windows.

| stage | module | result |
|---|---|---|
| columns of expressions | `columns`, `evaluate` | `Column`: values, and whether they are known |
| keys as small integers | `key_codes` | `KeyCodes`, with the JSON of each value |
| partitions and event classes | `entries` | `Entries`, by partition and time |
| states of one template | `entries.at_states` | `StateEntries` |
| integers of any size in aggregates | `exact` | `ExactColumn` |
| exact sums as digits | `digits` | the query that runs instead |
| amounts that events add | `weights` | `EventWeights`, with the ranks of MIN and MAX |
| edge predicates | `conditions`, `slots` | programs (`kernels.pair_program`) and their columns |
| windows | `slots.spans_of` | ranges of entries (`kernels.entries`) |

`in_order` divides a stream in time order into chunks, so that memory holds only open windows.
`ties` counts events with equal times.

Longs and timestamps are int64, doubles are float64, strings are codes in a sorted dictionary. NULL
is a False in `Column.known`. A rank is the position of a value among all values of the attribute.

A new kind of accumulator needs columns in `weights`. A new window policy needs `kernels.entries`.
This package imports neither executors nor sharing plans.
"""
