"""The trace: everything that names a lot, and what it says about customers, products and days."""
