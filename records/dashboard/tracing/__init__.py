"""The trace: every record that names a lot, and the customers, products and days that it concerns."""
