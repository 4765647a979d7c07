"""Materials that ERP systems keep in step."""
