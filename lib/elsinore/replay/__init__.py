"""Replays a stretch of hours through the whole pipeline in Airflow, and reads what came of it."""
