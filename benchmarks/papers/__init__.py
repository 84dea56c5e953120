"""The papers' figures, all systems side by side; `__main__` says how they are run."""
