"""One table of the logs, as `spmv table` prints it: what it shows (choice), what stands in it (grid), how
it is written (forms)."""
