"""The two-step reference: enumerate every trend by definition, then aggregate."""
