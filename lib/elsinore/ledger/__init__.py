"""The ledger of hours: an append-only table of what was done, and pure functions over it.

`table` appends and reads rows, `fold` reduces them to the state of each hour, and the other modules
answer questions about it without I/O: which hours are missing, late, stale, provisional or failed.
"""
