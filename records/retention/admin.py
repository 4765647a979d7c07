"""The pages of retention periods, one for each kind of record of a site."""

from typing import Any, ClassVar

from django.contrib import admin

from records.backoffice.plain_records import PlainAdmin
from records.retention.models import RetentionPeriod


@admin.register(RetentionPeriod)
class RetentionPeriodAdmin(PlainAdmin):
    """Periods of a site: Managers read them, Site Administrators add, change and archive them."""

    list_display = ("entity", "months")
    search_fields: ClassVar[Any] = ()
    ordering: ClassVar[Any] = ("entity", "id")
    fieldsets: ClassVar[Any] = ((None, {"fields": ("entity", "months")}),)
    fixed_fields = ("entity",)
