"""GRETA templates of bound queries and the merged template of a workload."""
