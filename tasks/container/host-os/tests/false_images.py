"""Images that cannot be run, and layers that only a hostile supplier makes. [R10], [R12]"""

from __future__ import annotations

import gzip
import io
import json
import secrets
import tarfile

from benchflow.bench.oci_writer import (
    CONFIG,
    INDEX,
    MANIFEST,
    Layer,
    LayerFile,
    LayoutWriter,
    digest,
    simple,
)

START = {"Entrypoint": ["/a"]}
ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
#: In the head of a gzip: a time, which changes nothing of what is packed.
TIME = range(4, 8)


def device(name: str, major: int, minor: int) -> Layer:
    """A layer with a character device that everybody may use."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.devmajor, entry.devminor = (
            tarfile.CHRTYPE,
            0o666,
            major,
            minor,
        )
        tar.addfile(entry)
    data = stream.getvalue()
    return Layer(data, gzip.compress(data, 1, mtime=0))


def _layers() -> list[Layer]:
    """Two layers of which no bit can be foretold."""
    return [Layer.of([(name, LayerFile(secrets.token_bytes(1500)))]) for name in "ab"]


def _spoil(layout: LayoutWriter, key: str, places: range | None = None) -> None:
    """Another bit of a blob, at one of these places, or anywhere."""
    data = bytearray(layout.blobs[key])
    data[secrets.choice(places or range(len(data)))] ^= 1 << secrets.randbelow(8)
    layout.blobs[key] = bytes(data)


def _manifest(layout: LayoutWriter) -> dict:
    return json.loads(layout.blobs[str(layout.entries[0]["digest"])])


def _with_manifest(manifest: dict, layout: LayoutWriter) -> LayoutWriter:
    """The same with another manifest, whose digest is right."""
    layout.entries.clear()
    layout.names(layout.blob(MANIFEST, json.dumps(manifest).encode()))
    return layout


def _damaged() -> dict[str, LayoutWriter]:
    """Blobs that are not what is said of them: which one, and where, is drawn."""
    made: dict[str, LayoutWriter] = {}

    def image(name: str, packed: bool = True, **config: object) -> tuple[LayoutWriter, str]:
        layers = _layers()
        layout = made[name] = simple(layers, {**START, **config}, packed=packed)
        one = secrets.choice(layers)
        return layout, digest(one.packed if packed else one.data)

    _spoil(*image("d-layer"))
    _spoil(*image("d-head"), TIME)
    _spoil(*image("d-plain", packed=False))
    # The first of the reasons that apply is due.
    _spoil(*image("d-user", User="nobody-knows"))
    _spoil(*image("d-nothing", Entrypoint=[]))
    layout, layer = image("d-short")
    layout.blobs[layer] = layout.blobs[layer][: -secrets.choice((1, 3, 64))]
    layout, _ = image("d-config")
    _spoil(layout, _manifest(layout)["config"]["digest"])
    layout, _ = image("d-manifest")
    _spoil(layout, str(layout.entries[0]["digest"]))
    layout, _ = image("d-index")
    inner = layout.index(layout.entries)
    layout.entries.clear()
    layout.names(inner)
    _spoil(layout, str(inner["digest"]))
    # Sizes: of the manifest, of the configuration, of a layer.
    layout, _ = image("d-size")
    layout.entries[0]["size"] = int(str(layout.entries[0]["size"])) + secrets.choice((-1, 1))
    for name in ("d-size-config", "d-size-layer"):
        layout, _ = image(name)
        manifest = _manifest(layout)
        blobs = [manifest["config"]] if name == "d-size-config" else manifest["layers"]
        secrets.choice(blobs)["size"] += secrets.choice((-1, 1))
        _with_manifest(manifest, layout)
    for name in ("d-diff", "d-diff-plain"):
        layers = _layers()
        named = [digest(one.data) for one in layers]
        named[secrets.randbelow(2)] = digest(b"another")
        made[name] = simple(
            layers, START, packed=name == "d-diff",
            changed={"rootfs": {"type": "layers", "diff_ids": named}},
        )  # fmt: skip
    return made


def _unfit(accounts: str) -> dict[str, LayoutWriter]:
    """`accounts`: a file on the carrier that knows the user pilot; no image does."""
    small, group = Layer.of([("a", LayerFile(b"a"))]), "77:nobody-knows"
    made = {
        "i-user": simple([small], {**START, "User": "nobody-knows"}),
        "i-group": simple([small], {**START, "User": group}),
        "i-nothing": simple([small], {}),
        "i-arm": simple([small], START, platform=("linux", "arm64")),
        "i-windows": simple([small], START, platform=("windows", "amd64")),
        "i-ref": simple([small], START),
        "i-marker": simple([small], START),
        "i-version": simple([small], START),
    }
    for name, way in (("i-outside", "/"), ("i-beyond", "../" * 12)):
        link = Layer.of([("etc/passwd", LayerFile(link=f"{way}carrier/{accounts}"))])
        made[name] = simple([small, link], {**START, "User": "pilot"})
    layout = made["i-layer"] = simple([small], START)
    manifest = _manifest(layout)
    manifest["layers"][0]["mediaType"] = ZSTD
    _with_manifest(manifest, layout)
    layout = made["i-type"] = LayoutWriter()
    layout.names({**layout.image([small], START), "mediaType": CONFIG})
    layout = made["i-index"] = LayoutWriter()
    layout.names({**layout.blob(INDEX, b"[]")})
    return made


def all_of(accounts: str) -> dict[str, LayoutWriter]:
    """Images by name: `d-…` is refused for `digest`, `i-…` for `image`."""
    return {**_damaged(), **_unfit(accounts)}
