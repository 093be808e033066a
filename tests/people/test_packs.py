"""What a pack of a task of the catalogue shows."""

from __future__ import annotations

from benchflow.people.pack import pack_of
from benchflow.tasks import find


def test_a_demand_is_plain_text_with_its_names_as_they_are() -> None:
    [shown] = pack_of([find("container/oci-base")]).tasks
    demands = {one.id: one.text for one in shown.demands}
    assert "the loader /lib/ld-musl-x86_64.so.1." in demands["R11"]
    assert not any(mark in text for text in demands.values() for mark in "*`")
