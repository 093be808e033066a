"""What an RPM package holds, as a format in which secrets are looked for."""

from __future__ import annotations

from collections.abc import Iterator

import rpms


def payload(data: bytes) -> Iterator[bytes]:
    """What follows a package's two headers. AssertionError for what is none."""
    _, end = rpms.header(data, 96)
    _, stop = rpms.header(data, (end + 7) // 8 * 8)
    yield data[stop:]


FORMATS = {b"\xed\xab\xee\xdb": payload}
