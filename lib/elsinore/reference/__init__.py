"""The two-step truth: enumerate every trend by definition, then aggregate."""
