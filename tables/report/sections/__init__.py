"""The parts of the report's page, each a function that returns HTML."""
