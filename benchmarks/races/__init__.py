"""Speed at equal results. Each file has `run(options)`, which yields rows as they are measured."""
