"""What every study shares, once: conditions and seeds, jobs that resume, the result table, claims and verdicts."""
