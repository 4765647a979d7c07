"""Which font prints which letter: DejaVu Sans, which comes with the product, or the reader's own East Asian fonts.

Letters that neither of them has are printed as well as possible, and the paper says so, so that nobody mistakes the
paper for the record.
"""

import re
import threading
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

from reportlab import rl_config
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont

from records.sites.text import HAN, HANGUL, KANA

PLAIN, BOLD = "LarderSans", "LarderSans-Bold"
CHINESE, JAPANESE, KOREAN = "STSong-Light", "HeiseiKakuGo-W5", "HYGothic-Medium"
_FOLDER = Path(__file__).parent / "font_files"
_registering = threading.Lock()

_EAST_ASIAN = re.compile(f"[{KANA}{HANGUL}{HAN}]+")
_IS_KANA, _IS_HANGUL = re.compile(f"[{KANA}]"), re.compile(f"[{HANGUL}]")
# Signs above and below Hebrew and Arabic letters, and letters whose shapes or places depend on their neighbours.
_COMPLEX_LETTERS = re.compile(
    "[\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0700-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"
)


def use_fonts() -> None:
    """Register the fonts with the PDF library, once, and let it write binary data instead of longer ASCII text."""
    with _registering:
        rl_config.useA85 = 0
        if PLAIN in pdfmetrics.getRegisteredFontNames():
            return
        for name in (CHINESE, JAPANESE, KOREAN):
            pdfmetrics.registerFont(UnicodeCIDFont(name))
        pdfmetrics.registerFont(TTFont(BOLD, _FOLDER / "DejaVuSans-Bold.ttf"))
        pdfmetrics.registerFont(TTFont(PLAIN, _FOLDER / "DejaVuSans.ttf"))
        pdfmetrics.registerFontFamily(PLAIN, normal=PLAIN, bold=BOLD, italic=PLAIN, boldItalic=BOLD)


@cache
def _letters() -> frozenset[int]:
    use_fonts()
    return frozenset(pdfmetrics.getFont(PLAIN).face.charToGlyph)


def is_east_asian(text: str) -> bool:
    """Return whether lines of the text may break between any two letters."""
    return _EAST_ASIAN.search(text) is not None


def is_set_faithfully(text: str) -> bool:
    """Return whether every letter of the text is printed correctly; Arabic letters already have their shapes."""
    if text.isascii():
        return True
    other_text = _EAST_ASIAN.sub("", text)
    return not _COMPLEX_LETTERS.search(other_text) and all(
        ord(letter) in _letters() for letter in other_text if letter not in "\n\t"
    )


def stretches(text: str, font: str) -> list[tuple[str, str]]:
    """Return the parts of the text, each with the font that has its letters: this one, or an East Asian one."""
    han, parts, end = JAPANESE if _IS_KANA.search(text) else CHINESE, [], 0
    for match in _EAST_ASIAN.finditer(text):
        parts += [(font, text[end : match.start()]), (KOREAN if _IS_HANGUL.search(match[0]) else han, match[0])]
        end = match.end()
    return [(name, stretch) for name, stretch in [*parts, (font, text[end:])] if stretch]


def width_of(text: str, font: str, size: float) -> float:
    """Return the width of a line in points, with each part in its font."""
    return sum(pdfmetrics.stringWidth(stretch, name, size) for name, stretch in stretches(text, font))


def markup(text: str) -> str:
    """Return the text as the PDF library's markup, with a font for each part and with its line breaks."""
    han = JAPANESE if _IS_KANA.search(text) else CHINESE

    def in_its_font(match: re.Match[str]) -> str:
        font = KOREAN if _IS_HANGUL.search(match[0]) else han
        return f'<font name="{font}">{match[0]}</font>'

    text_with_fonts = _EAST_ASIAN.sub(in_its_font, escape(text.replace("\t", "    ")))
    return text_with_fonts.replace("\n", "<br/>")
