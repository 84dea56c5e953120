"""Sharon: from statistics over candidates and conflicts to a frozen static plan."""
