"""Leads from records to units: what was measured (unit), repeats of it as one (merging), laid out and ranked
(layout)."""
