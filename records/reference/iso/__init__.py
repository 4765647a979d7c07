"""The ISO lists as checked-in files, and the script that writes them."""
