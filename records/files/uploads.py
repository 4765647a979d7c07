"""Receives the files of a form under the names that they have on the person's device."""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, MemoryFileUploadHandler, TemporaryFileUploadHandler


class _NamedAsOnDevice(FileUploadHandler):
    """Browsers send a quotation mark in a name as `%22`; no other percent sign means anything there (WHATWG)."""

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        """Note the name of the file."""
        super().new_file(field_name, file_name.replace("%22", '"'), *args, **kwargs)


class InMemory(_NamedAsOnDevice, MemoryFileUploadHandler):
    """Keeps a small file in memory."""


class OnDisk(_NamedAsOnDevice, TemporaryFileUploadHandler):
    """Writes a larger file to a temporary one."""
