"""Data quality: results of a sample against the reference, expectations, and reports.

Only this package imports Great Expectations.
"""
