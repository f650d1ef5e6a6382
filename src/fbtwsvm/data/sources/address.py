"""Addresses of servers, without the names and passwords of users."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SCHEME = r"[a-z][a-z0-9+.\-]*:/+"
_PLACE = r"(?:(?![?&](?:query|table|stream)=)[^\s@])*"  # a password may hold any character, also @, ? and /
_USER = rf"(?:[^\s@/?:]*|[^\s@/:]*:[^\s@]*)@(?:{_PLACE}@)*"
_AFTER_SCHEME = re.compile(f"({_SCHEME}){_USER}", re.IGNORECASE)
_ANYWHERE = re.compile(
    r"[^\s@/:\"'(]+:(?![\\/])[^\s@]+@(?:[^\s@/?]*@)*"
)  # user:password@ of an address without a scheme
_OPTION = re.compile(r"\b(user(?:name)?|\w*passw(?:or)?d|pwd|secret|token)=[^&\s]*", re.IGNORECASE)


def without_user(address: str) -> str:
    """Return an address without the name and password of its user."""
    return re.sub(f"^({_SCHEME}){_USER}", r"\1", address, flags=re.IGNORECASE)


def masked(text: str, secrets: Iterable[str | None] = ()) -> str:
    """Return a message without users and passwords in the addresses that it repeats, and without other secrets."""
    text = _OPTION.sub(r"\1=***", _ANYWHERE.sub("***@", _AFTER_SCHEME.sub(r"\1", text)))
    for secret in filter(None, secrets):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text
