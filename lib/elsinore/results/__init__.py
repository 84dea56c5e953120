"""The result row, its canonical order and encoding, and the diff of two result sets."""
