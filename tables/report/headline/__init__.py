"""The headline: auto over the best other library on matrices that nobody here made."""
