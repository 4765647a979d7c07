"""Backup and restore: the database, the files and a seal in one archive that neither database is bound to."""
