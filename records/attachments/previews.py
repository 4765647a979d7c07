"""Previews of pictures: small, the right way up, and without the metadata that a camera adds.

A preview is made from the picture's pixels alone, so it contains neither the place where a photo was taken nor any
other metadata. The original stays as it was stored.
"""

import io
import threading
import warnings
from typing import IO, Any

from PIL import Image, ImageOps

EDGE = 640
"""The longest edge of a preview, in pixels."""
MOST_BYTES = 64_000_000
"""A picture that takes more memory is not decoded: a small file can declare a very large one.

A pixel takes 4 bytes, or one if it has no colour or its colour is one of a palette. A JPEG is decoded at a fraction of
its size, which is what counts.
"""
ONE_BYTE = ("1", "L", "P")
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP")
PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp", "image/tiff", "image/bmp")


_decoding = threading.Lock()
"""A process decodes one picture at a time, so that previews never take more memory than one of them."""


def may_have_preview(file_type: str) -> bool:
    """Return whether previews are made of files of this type."""
    return file_type.partition(";")[0].strip().lower() in PICTURES


def preview_of(file: IO[bytes]) -> bytes | None:
    """Return a JPEG whose edges have at most 640 pixels, or None if the file is not a picture that can be decoded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file, formats=FORMATS) as picture:
                picture.draft("RGB", (EDGE * 2, EDGE * 2))
                if picture.width * picture.height * (1 if picture.mode in ONE_BYTE else 4) > MOST_BYTES:
                    return None
                with _decoding:
                    return _small(picture)
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, Image.DecompressionBombError, Warning):
        return None


def _small(picture: Any) -> bytes:
    picture.thumbnail((EDGE * 2, EDGE * 2), reducing_gap=2.0)
    upright = ImageOps.exif_transpose(picture).convert("RGBA")
    upright.thumbnail((EDGE, EDGE))
    clean = Image.new("RGB", upright.size, "white")  # Transparent parts become white.
    clean.paste(upright, mask=upright.getchannel("A"))
    out = io.BytesIO()
    clean.save(out, "JPEG", quality=80, optimize=True)
    return out.getvalue()
