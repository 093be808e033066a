"""A step of a build can ask whom this machine trusts, and nothing of it stays in the image."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchflow.sandbox.image import images

RECIPE = """\
FROM debian:bookworm
RUN --mount=type=secret,id=certificates,target=/run/trusted \\
    grep -c 'BEGIN CERTIFICATE' /run/trusted > /counted
"""


@pytest.mark.needs("sandbox", "mirror")
def test_a_step_finds_the_certificates_and_they_do_not_stay(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(RECIPE)
    image = images.build(tmp_path)
    own = Path("/etc/ssl/certs/ca-certificates.crt").read_text()
    made = [layer / "counted" for layer in image.layers if (layer / "counted").exists()]
    assert [int(path.read_text()) for path in made] == [own.count("BEGIN CERTIFICATE")]
    for layer in image.layers:
        left = layer / "run" / "trusted"
        assert not left.exists() or left.stat().st_size == 0
