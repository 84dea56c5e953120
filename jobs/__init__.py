"""One module per task of the pipeline: arguments in, one line of figures out."""
