"""Executors: compiled ways to run queries over the events of a table.

| package | content |
|---|---|
| `plan` | which executor runs each query; units of execution |
| `graph` | greta: a graph of events per query |
| `linear` | sweep, aseq and sharon: queries without conditions on pairs of events |
| `hamlet` | sets of queries that share bursts |
| `output`, `input` | what all executors read and write |
| `aggregates`, `kinds` | the accumulators of each aggregate function, and their kinds |
| `row_bound` | limits of windows and rows |
| `compile_kernels`, `profile` | compile all kernels; measure the steps of a run |

The executors in `graph`, `linear` and `hamlet` do not import each other. Modules in `kernels`
folders are compiled, and read arrays only.
"""
