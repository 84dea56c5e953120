"""The executor hamlet: sharable sets, whose queries share bursts if that pays (Hamlet)."""
