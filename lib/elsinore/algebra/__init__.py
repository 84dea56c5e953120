"""The aggregates as states with zero, extend, combine and finalize; number width is fixed here."""
