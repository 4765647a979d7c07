"""Counts of wrong guesses, kept in the database so that all processes count together (DECISIONS 9.8)."""

from django.db import models


class GuessCounter(models.Model):
    """The recent attempts of one account, address or browser, or of the whole installation.

    `times` contains the times of the attempts that are not known to be right, as seconds since 1970, oldest first.
    """

    key = models.CharField(max_length=128, unique=True)
    times = models.JSONField(default=list)
    locked_until = models.FloatField(default=0)
    touched = models.FloatField(default=0, db_index=True)

    class Meta:
        verbose_name = "counter of wrong guesses"
        verbose_name_plural = "counters of wrong guesses"

    def __str__(self) -> str:
        return self.key
