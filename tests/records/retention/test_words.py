"""Whether a text says an erased value, in whatever way the value is spelled there."""

import pytest

from records.retention.words import Words

MATCHES = [
    ("田中", "お客様の田中様から電話がありました。"),
    ("王", "客户王先生来电"),
    ("김", "고객 김민수 씨"),
    ("김철수", "고객김철수가 전화했습니다"),
    ("สมชาย", "คุณสมชายโทรมา"),
    ("Smith", "スミス様(Smith様)"),
    ("Smith", "お客様Smith様"),
    ("カタカナ", "お客様のｶﾀｶﾅ様"),
    ("ジョン・スミス", "ジョン スミス様"),
    ("𠮷田", "お客様の𠮷田様"),
    ("Bo", "Mr Bo called"),
    ("Bo", "_BO_ called"),
    ("Straße", "LANGE STRASSE 3"),
    ("STRASSE", "Lange Straße 3"),
    ("O\u2019Neil", "Mrs O'Neil called"),
    ("O'Neil", "Mrs O\u2019Neil\u2019s box"),
    ("Mu\u0308ller", "Herr M\u00fcller"),
    ("M\u00fcller", "Herr MU\u0308LLER"),
    ("Meyer-Landrut", "Frau Meyer\u2011Landrut"),
    ("Anne-Marie", "Anne Marie called"),
    ("Przybylski", "Mrs Przy\u00adbylski"),
    ("Elm Street 12", "At Elm\u00a0Street  12"),
    ("Elm Street 12\nSpringfield", "In Springfield"),
    ("R.Rose@Mail.example", "Mail of r.rose@mail.EXAMPLE"),
    ("555-0100", "Call 555 01 00"),
    ("0170/1234567", "Tel. +49 (0)170 1234-567"),
    ("+49 170 1234567", "Tel. 0170 12 34 567, after 12 h"),
    ("\uff10\uff11\uff12\uff0d\uff13\uff14\uff15", "Tel. 012345"),
    ("110", "Extension 110"),
    ("Meyer-Landrut", "Brief_Meyer_Landrut.pdf"),
    ("Elm Street 12", "Elm_Street_12.jpg"),
    ("0421 555 0100", "call_0421_555_0100.txt"),
    ("Przybylski", "Przybylski2.pdf"),
    ("Przybylski", "Brief%20Przybylski.pdf"),
]
NOT_FOUND = [
    ("Bo", "Bob called"),
    ("Bo", "The box"),
    ("Ann", "Annual review"),
    ("Ann", "Susann called"),
    ("Rose", "The dough rosette."),
    ("B", "Mr B called"),
    ("A.", "At 10 a.m."),
    ("12", "Batch 12"),
    ("12345", "Batch 1 2345"),
    ("12345", "Batch L12345A"),
    ("Ann", "Batch 26ANN12"),
    ("Elm Street 12", "Elm_Street_120"),
    ("555-0100", "Call 555-0101"),
    ("이", "고객이 전화했습니다"),
    ("田中", "お客様の中田様"),
    ("-", "A - B"),
    ("", "Anything"),
    ("Rose", ""),
]


@pytest.mark.parametrize(("value", "text"), MATCHES)
def test_a_text_and_a_reason_that_say_a_value_in_another_spelling_are_found(value: str, text: str) -> None:
    assert Words([value]).occur_in(text)
    assert Words([value]).are_quoted_in(text)


@pytest.mark.parametrize(("value", "text"), NOT_FOUND)
def test_what_only_resembles_a_value_is_not_found(value: str, text: str) -> None:
    assert not Words([value]).occur_in(text)


def test_a_reason_also_quotes_a_value_within_another_word() -> None:
    assert Words(["Przybylski"]).are_quoted_in("Przybylskis Brief")
    assert not Words(["Bo"]).are_quoted_in("Bobs Brief")
