"""Auto beside other libraries: its ratio to the best other library on matrices that nobody here made."""
