"""The machine in words: configuration, presets, uop record, events, scheme names. Imports nothing else of
ours."""
