"""What `import elsinore` gives: workloads over frames and files, results, and views of both."""
