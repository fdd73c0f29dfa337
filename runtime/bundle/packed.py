"""A bundle as one file, for phones: a ZIP that stores its entries uncompressed, `manifest.json` first.

It may hold less than the bundle: some targets, and without the language model, the experts, the face
networks or those that read text. The manifest in it is that of what is left, so what comes out of it is a
bundle like any other.
`unpack` believes nothing: names, sizes and hashes are those of the manifest, or the file is refused.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from gamer.index.replacing import replacing

from ..errors import BundleError
from .manifest import (
    ADAPTERS,
    LAYOUTS,
    MANIFEST_NAME,
    PICTURE_FILE,
    VISION,
    Manifest,
    check,
    check_one,
    from_json,
    inside,
    read,
)
from .manifest import to_json as manifest_text

OPTIONAL = ("llm", "dpe", "faces", "ocr")  # parts that a search can do without
_ROLES = {"llm": "llm_", "dpe": "dpe_", "faces": "face_", "ocr": "ocr_"}
_NOT_ON_PHONES = (VISION, PICTURE_FILE)  # how a language model sees pictures: the apps show it none
MAX_MANIFEST, MAX_ENTRIES = 16 << 20, 100_000
_BLOCK = 1 << 20
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # so that the same bundle gives the same file


@dataclass(frozen=True)
class Packed:
    """`files`: entries beside the manifest."""

    path: Path
    files: int
    bytes: int


def pack(bundle: Path, out: Path, targets: Collection[str] = (), without: Collection[str] = ()) -> Packed:
    """Writes a bundle to the file `out`, aside, and renames it.

    `targets`: those that are taken; none for all. `without`: parts that are left out (OPTIONAL). Raises
    BundleError for a bundle that is not whole, a target that it lacks, and a file that cannot be written.
    """
    manifest = chosen(read(bundle), targets, without)
    check(bundle, manifest)
    entries = sorted(names(bundle, manifest))

    def failure(why: str) -> BundleError:
        return BundleError(f"{out}: cannot be written ({why}); check the free space")

    with (
        replacing(out, failure, folders=True) as aside,
        zipfile.ZipFile(aside, "w", zipfile.ZIP_STORED) as file,
    ):
        file.writestr(zipfile.ZipInfo(MANIFEST_NAME, _EARLIEST), manifest_text(manifest))
        for name in entries:
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.file_size = (bundle / name).stat().st_size
            with file.open(entry, "w") as sink, (bundle / name).open("rb") as source:
                shutil.copyfileobj(source, sink, _BLOCK)
    return Packed(out, len(entries), out.stat().st_size)


def chosen(manifest: Manifest, targets: Collection[str], without: Collection[str]) -> Manifest:
    """The manifest of what is left. Raises BundleError for a target or a part that is not there to choose."""
    have = sorted({artifact.target for artifact in manifest.artifacts})
    for target in targets:
        if target not in have:
            raise BundleError(f"bundle {manifest.recipe} has no target {target!r}; it has {', '.join(have)}")
    for part in without:
        if part not in OPTIONAL:
            raise BundleError(f"a bundle needs its part {part!r}; one can leave out: {', '.join(OPTIONAL)}")
    gone = (*(_ROLES[part] for part in without), *_NOT_ON_PHONES)
    kept = set(targets) or set(have)
    llm = "llm" not in without
    return replace(
        manifest,
        components=tuple(c for c in manifest.components if not c.role.startswith(gone)),
        artifacts=tuple(a for a in manifest.artifacts if a.target in kept and not a.role.startswith(gone)),
        language=manifest.language if llm else None,
        prompts=manifest.prompts if llm else {},
        prefixes=tuple(p for p in manifest.prefixes if llm and p.target in kept),
        files=tuple(f for f in manifest.files if _is_kept(f.path, gone)),
        channels=manifest.channels if "dpe" not in without else (),
    )


def _is_kept(path: str, gone: tuple[str, ...]) -> bool:
    """Whether a file is taken: none of a role that is left out (llm_tokenizer.json, fixtures/llm.json), none
    of what the apps do not read: the copies of the language model for other runtimes, its adapters, its eyes.
    """
    names = (*gone, *(f"{role.rstrip('_')}." for role in gone))
    return not path.startswith((*(f"{layout}/" for layout in LAYOUTS), ADAPTERS)) and not PurePosixPath(
        path
    ).name.startswith(names)


def names(bundle: Path, manifest: Manifest) -> Iterator[str]:
    """The files that the manifest names, and those in the directories that it names."""
    for entry in manifest.entries:
        path = inside(bundle, entry.path)
        files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
        yield from (file.relative_to(bundle).as_posix() for file in files)


def unpack(file: Path, out: Path) -> Manifest:
    """Unpacks a file of `pack` into the directory `out`, which must not exist; aside, and renamed.

    Raises BundleError for a file that is no packed bundle or is damaged; nothing is left of it then.
    """
    if out.exists():
        raise BundleError(f"{out}: there is something already: give another directory, or move it away")
    aside = out.with_name(out.name + ".partial")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        with zipfile.ZipFile(file) as packed:
            manifest = _extract(packed, file, aside)
        _check_whole(aside, manifest, file)
        aside.replace(out)
        return manifest
    except FileNotFoundError:
        raise BundleError(f"{file}: no such file") from None
    except (zipfile.BadZipFile, NotImplementedError, EOFError, UnicodeDecodeError) as error:
        raise BundleError(f"{file}: not a packed bundle, or damaged ({error}): copy it again") from None
    except OSError as error:
        raise BundleError(f"{out}: cannot be written ({error.strerror}); check the free space") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _check_whole(folder: Path, manifest: Manifest, file: Path) -> None:
    for entry in manifest.entries:
        try:
            check_one(folder, entry)
        except BundleError:
            raise BundleError(
                f"{file}: {entry.path} in it is missing or not what its manifest promises: copy it again"
            ) from None


def _extract(packed: zipfile.ZipFile, file: Path, out: Path) -> Manifest:
    entries = packed.infolist()
    if not entries or entries[0].filename != MANIFEST_NAME or len(entries) > MAX_ENTRIES:
        raise BundleError(f"{file}: not a packed bundle: `gamer pack` makes one of a bundle")
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 for entry in entries):
        raise BundleError(
            f"{file}: its entries are compressed or encrypted: pack the bundle with `gamer pack`"
        )
    if entries[0].file_size > MAX_MANIFEST:
        raise BundleError(f"{file}: its manifest has {entries[0].file_size} bytes, at most {MAX_MANIFEST}")
    manifest = from_json(packed.read(entries[0]).decode("utf-8"), f"{file}: {MANIFEST_NAME}")
    room = {PurePosixPath(entry.path).as_posix(): entry.bytes for entry in manifest.entries}
    seen = set[str]()
    for entry in entries[1:]:
        name = PurePosixPath(entry.filename).as_posix()
        owner = next((path for path in (name, *map(str, PurePosixPath(name).parents)) if path in room), None)
        if owner is None or name in seen or entry.is_dir():
            raise BundleError(f"{file}: its manifest does not name {entry.filename[:80]!r}")
        if entry.file_size > room[owner]:
            raise BundleError(f"{file}: {entry.filename[:80]!r} is larger than the manifest promises")
        room[owner] -= entry.file_size
        seen.add(name)
    out.mkdir(parents=True)
    (out / MANIFEST_NAME).write_text(manifest_text(manifest), encoding="utf-8")
    for entry in entries[1:]:
        path = inside(out, entry.filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        with packed.open(entry) as source, path.open("xb") as sink:
            shutil.copyfileobj(source, sink, _BLOCK)
    return manifest
