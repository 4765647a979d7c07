"""Materials that are synchronised with ERP systems."""
