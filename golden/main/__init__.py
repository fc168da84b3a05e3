"""Main register file: bank arbiter and bank timing."""
