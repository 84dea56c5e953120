"""How the engine scales; `__main__` says what is measured and how it is run."""
