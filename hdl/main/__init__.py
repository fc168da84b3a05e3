"""Main register file: bank arbiter, bank timing and poison."""
