"""Description of the machine: configuration, presets, uop record, events, scheme names. The package imports
no other package of Warpbank."""
