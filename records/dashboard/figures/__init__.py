"""What the start page counts, and how it is drawn."""
