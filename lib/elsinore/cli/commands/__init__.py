"""The commands with their options and help; each imports its work when it is called."""
