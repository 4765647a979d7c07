"""Writes countries.csv and languages.csv beside this file from pycountry; run by hand when ISO changes a list.

`python records/reference/iso/generate.py` (pycountry is a development package: the product reads the files alone).
Names are the ones that people use, since staff look for them in a list; codes are never changed.
"""

import csv
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pycountry

FOLDER = Path(__file__).parent

COUNTRY_NAMES = {
    "CD": "Congo, Democratic Republic of the",
    "FM": "Micronesia",
    "LA": "Laos",
    "PS": "Palestine",
    "RU": "Russia",
    "VG": "Virgin Islands (British)",
    "VI": "Virgin Islands (U.S.)",
}
LANGUAGE_NAMES = {"el": "Greek", "cu": "Church Slavonic", "ps": "Pashto", "ky": "Kyrgyz", "ug": "Uyghur"}
WITHDRAWN_LANGUAGES = {"sh"}


def in_order(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the rows sorted by name, with accents ignored, independent of the machine's locale."""

    def plain(row: tuple[str, str]) -> tuple[str, str]:
        letters = unicodedata.normalize("NFD", row[1].casefold())
        return "".join(letter for letter in letters if not unicodedata.combining(letter)), row[0]

    return sorted(rows, key=plain)


def countries() -> list[tuple[str, str]]:
    """Return code and name of every country of ISO 3166-1."""
    return in_order(
        (country.alpha_2, COUNTRY_NAMES.get(country.alpha_2) or str(getattr(country, "common_name", country.name)))
        for country in pycountry.countries
    )


def languages() -> list[tuple[str, str]]:
    """Return code and name of every language of ISO 639-1, without what its names add in brackets."""
    return in_order(
        (language.alpha_2, LANGUAGE_NAMES.get(language.alpha_2) or re.sub(r" \(.*\)$", "", language.name))
        for language in pycountry.languages
        if getattr(language, "alpha_2", None) and language.alpha_2 not in WITHDRAWN_LANGUAGES
    )


def write(name: str, rows: list[tuple[str, str]]) -> None:
    """Write one file of code and name."""
    with (FOLDER / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("code", "name"))
        writer.writerows(rows)


if __name__ == "__main__":
    write("countries.csv", countries())
    write("languages.csv", languages())
