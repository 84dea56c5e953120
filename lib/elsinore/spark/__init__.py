"""The only package that knows Spark and Delta."""
