"""Files of records: how they are received, stored and served."""
