"""Derived segments: blobs that can be rebuilt from the rows, kept with the generation they were built from and a hash.

A segment that is behind, or whose bytes do not match its hash, is not there: `load` gives None and the caller scans.
Knows the segments table; knows nothing of what is inside a blob.
"""

from __future__ import annotations

import hashlib

import apsw

KDTREE = "kdtree"


def hnsw_name(channel: str) -> str:
    return f"hnsw:{channel}"


def store(connection: apsw.Connection, name: str, version: int, generation: int, blob: bytes) -> None:
    digest = hashlib.sha256(blob).hexdigest()
    connection.execute("INSERT OR REPLACE INTO segments VALUES(?,?,?,?,?)", (name, version, generation, digest, blob))


def load(connection: apsw.Connection, name: str, version: int, generation: int) -> bytes | None:
    found = connection.execute("SELECT version, generation, sha256, blob FROM segments WHERE name=?", (name,)).fetchone()
    if found is None or found[0] != version or found[1] != generation or not isinstance(found[3], bytes):
        return None
    return found[3] if hashlib.sha256(found[3]).hexdigest() == found[2] else None


def problems(connection: apsw.Connection, generation: int) -> list[str]:
    """Every segment that a reader would pass over, in words."""
    out = []
    for name, built, digest, blob in connection.execute("SELECT name, generation, sha256, blob FROM segments ORDER BY name"):
        if built != generation:
            out.append(f"segment {name}: built from generation {built}, the album is at {generation}")
        if not isinstance(blob, bytes) or hashlib.sha256(blob).hexdigest() != digest:
            out.append(f"segment {name}: bytes do not match their hash")
    return out
