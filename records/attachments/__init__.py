"""Attachments: files on records of any kind, such as photos of a complaint or the certificate of a material."""
