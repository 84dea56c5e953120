"""Queries without conditions on pairs of events: an event is a linear map on all counts.

Queries without edge predicates are swept window by window or by panes (`sweep`). Queries of fixed
length have one lane per open window (`segments`: A-Seq and Sharon). Both read the same entries and
write the same rows.
"""
