"""Backup and restore: the database, the files and a seal in one archive, which either database can read."""
