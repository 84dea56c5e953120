"""Lower static plans and templates to the arrays that the kernels read."""
