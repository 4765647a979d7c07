"""Which media types an Accept header accepts, and which it prefers (RFC 9110, 12.5.1)."""


def accepts(header: str, media_type: str) -> bool:
    """Return whether an Accept header accepts a media type; a more specific range takes precedence."""
    return preference(header, media_type)[0] > 0


def preference(header: str, media_type: str) -> tuple[float, int]:
    """Return the quality of the most specific range for a media type in an Accept header, and how specific it is."""
    kind = media_type.partition("/")[0]
    best, quality = 0, 0.0
    for part in header.split(","):
        media, _, parameters = part.partition(";")
        rank = {media_type: 3, f"{kind}/*": 2, "*/*": 1}.get(media.strip().lower(), 0)
        if rank > best:
            best, quality = rank, _quality(parameters)
    return quality, best


def _quality(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return max(0.0, min(1.0, float(value)))
            except ValueError:
                return 0.0
    return 1.0
