"""The Hamlet paper's experiments; `__main__` says how they are run."""
