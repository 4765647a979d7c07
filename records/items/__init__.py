"""Items: equipment and other things with a serial number and a place."""
