"""Reminders: one mail a day to each person about everything that they have to do, from every kind of record."""
