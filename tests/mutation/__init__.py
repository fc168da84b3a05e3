"""Mutation of sources: what is changed (`operators`), how tests see it (`plugin`), which tests map to a file
(`mapping`), and when a change changes nothing (`equivalence`). `python -m tests.mutate` runs it."""
