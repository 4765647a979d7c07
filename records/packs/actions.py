"""The actions on packs: requesting, opening and removing one. Each is a Change of the site's history."""

import datetime
from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from records.accounts import access
from records.accounts.models import User
from records.files import storage
from records.history.digests import FieldChange
from records.history.models import Change
from records.history.trail import Author, recording
from records.packs.kinds import permission_of
from records.packs.models import MAKE, OPEN_ANY, UNFINISHED, Pack, PackFile, Status
from records.retention.erasing import ERASURES
from records.sites.models import Site
from records.sites.writing import add_record

MOST_AT_ONCE = 3
"""The maximum number of a site's packs that wait or are being made at a time."""


def request_pack(
    site: Site, user: User, first: datetime.date, last: datetime.date, kinds: Sequence[str], *, author: Author
) -> Pack:
    """Store a request for a pack of the site for the days from first to last, and queue its making.

    Raises ValidationError if the author may not see a kind, the days are in the wrong order, or three packs are being
    made already.
    """
    from records.packs.tasks import make_pack

    if last < first:
        raise ValidationError({"last": gettext("The last day is before the first one.")})
    visible_kinds = [key for key in kinds if access.may(user, site, permission_of(key))]
    if not visible_kinds:
        raise ValidationError({"kinds": gettext("Choose at least one kind of record.")})
    with recording():
        # Two requests at the same time wait for each other here, so that the count stays correct.
        Site.objects.select_for_update(of=("self",), no_key=True).get(pk=site.pk)
        if Pack.objects.at(site).filter(status__in=UNFINISHED).count() >= MOST_AT_ONCE:
            raise ValidationError(
                gettext("%(most_at_once)s packs of this site are being made. Wait until one of them is ready.")
                % {"most_at_once": MOST_AT_ONCE}
            )
        pack = Pack(site=site, asked_by=user, first=first, last=last, kinds=visible_kinds)
        add_record(pack, author=author, operation="AskForPack")
        transaction.on_commit(lambda: make_pack.enqueue(str(pack.pk)))
    return pack


def visible_packs(user: User, site: Site) -> QuerySet[Pack]:
    """Return the site's packs that the person may see in the list: their own, or all."""
    rows = Pack.objects.at(site).select_related("asked_by", "file")
    if not access.may(user, site, MAKE):
        return rows.none()
    return rows if access.may(user, site, OPEN_ANY) else rows.filter(asked_by=user)


def why_not_open(user: User, pack: Pack) -> str:
    """Return why a person who sees the pack in the list cannot open it now; empty if they can."""
    if pack.status != Status.MADE or not hasattr(pack, "file"):
        return gettext("The file of this pack is not there. Make a new pack.")
    if not all(access.may(user, pack.site_id, permission) for permission in pack.permissions):
        return gettext("This pack shows what your roles do not let you see.")
    if was_erased_since(pack):
        return gettext("Personal data was erased after this pack was made. Make a new pack.")
    return ""


def was_erased_since(pack: Pack) -> bool:
    """Return whether personal data was erased at the site since the pack was begun; the pack may still contain it."""
    since = pack.made or pack.created
    return Change.objects.filter(site_id=pack.site_id, at__gte=since, operation__in=ERASURES).exists()


# The common writer does not write what follows: either no column of the pack changes, or its file is deleted.


def note_opening(pack: Pack, *, author: Author) -> None:
    """Record who opened the pack."""
    with recording() as trail:
        entry: FieldChange = {"field": "file_hash", "old": None, "new": pack.file.file_hash}
        trail.add(pack, [entry], author=author, operation="OpenPack", site_id=pack.site_id)


def note_making(pack: Pack, file: PackFile, *, author: Author) -> None:
    """Record the file of the finished pack."""
    with recording() as trail:
        entries: list[FieldChange] = [
            {"field": "file_hash", "old": None, "new": file.file_hash},
            {"field": "file_size", "old": None, "new": file.file_size},
        ]
        trail.add(pack, entries, author=author, operation="MakePack", site_id=pack.site_id)


def remove_file(pack: Pack, *, author: Author, reason: str) -> None:
    """Remove the pack's file and record that; the pack itself stays in the list."""
    with recording() as trail:
        file = PackFile.objects.select_for_update(of=("self",), no_key=True).filter(pack=pack).first()
        if file is None:
            return
        Pack.objects.filter(pk=pack.pk).update(status=Status.REMOVED)
        entry: FieldChange = {"field": "file_hash", "old": file.file_hash, "new": None}
        trail.add(pack, [entry], author=author, operation="RemovePack", reason=reason, site_id=pack.site_id)
        file.delete()
        transaction.on_commit(lambda: storage.discard(file.path))
