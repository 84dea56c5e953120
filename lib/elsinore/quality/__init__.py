"""The only package that knows Great Expectations."""
