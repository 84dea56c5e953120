"""The query language: grammar, syntax tree, printer, binding to event types, normal form."""
