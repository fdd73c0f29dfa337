"""Suites `manifest` (old, new and hostile ones), `prefix` (a prompt's fixed beginning and its cache) and
`errors` (inputs that a search refuses).

They use small synthetic bundles.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.gazetteer import Gazetteer
from gamer.runtime.models.language import prefix
from gamer.runtime.models.language.drafts import MOST, Drafts
from gamer.runtime.models.language.reuse import common
from gamer.runtime.search.engine import check
from tools.conformance.fixture import Answers, Given, floats

GOLDEN = "../manifest_v1.json"


def manifest(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared

    def golden(given: Given) -> mf.Manifest:
        return mf.from_json((folder / given["file"]).read_text(encoding="utf-8"), "x")

    inside = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    return {
        "read": partial(_read, folder),
        "artifact": lambda given: {"path": golden(given).artifact(given["role"], given["target"]).path},
        "file": lambda given: {"path": golden(given).file(given["name"]).path},
        "path": lambda given: {"inside": bool(mf.inside(inside, given["path"]))},
        "check": _check,
    }


def _read(folder: Path, given: Given) -> Given:
    """A manifest's `text`, or that of a `file` with a value `set` or a key `drop`ped."""
    if "text" in given:
        return _manifest(mf.from_json(given["text"], "x"))
    raw = json.loads((folder / given["file"]).read_text(encoding="utf-8"))
    raw.pop(given.get("drop"), None)
    if "set" in given:
        (*path, last), value = given["set"]
        parent = raw
        for step in path:
            parent = parent[step]
        parent[last] = value
    return _manifest(mf.from_json(json.dumps(raw), "x"))


def _manifest(manifest: mf.Manifest) -> Given:
    """The manifest's fields that a port must read."""
    fields = ("recipe", "quant", "text_encoder", "image_encoder", "dim", "prompts", "licences")
    ranking = asdict(manifest.ranking or mf.Ranking())
    del ranking["fitted"]
    language, pixels = manifest.language, manifest.preprocessing
    prompts, chosen = manifest.text_prompts or mf.TextPrompts(), manifest.thresholds
    return {name: getattr(manifest, name) for name in fields} | {
        "text_prompts": [prompts.query, prompts.memory],
        "components": [[c.role, c.trained, c.macs] for c in manifest.components],
        "artifacts": [
            [
                a.role,
                a.target,
                a.path,
                a.bytes,
                a.sha256,
                [[t.name, list(t.shape), t.dtype] for t in a.inputs],
            ]
            for a in manifest.artifacts
        ],
        "files": [[f.name, f.path, f.bytes, f.sha256] for f in manifest.files],
        "prefixes": [[p.prompt, p.target, p.tokens, p.path] for p in manifest.prefixes],
        "preprocessing": None
        if pixels is None
        else [pixels.resize, pixels.crop, pixels.interpolation, pixels.fit, pixels.least],
        "language": None
        if language is None
        else [
            language.layers,
            language.kv_heads,
            language.head_dim,
            language.max_seq,
            list(language.eos_ids),
        ],
        "thresholds": [chosen.delta, chosen.rho, chosen.k, chosen.paper_delta],
        "ranking": ranking,
    }


def _check(given: Given) -> Given:
    """A small bundle with every hash checked; a directory may be an artifact."""
    files = {path: base64.b64decode(data) for path, data in given["files"].items()}
    with bundle(files, given["text"]) as folder:
        mf.check(folder, mf.read(folder))
    return {"whole": True}


@contextmanager
def bundle(files: Mapping[str, bytes], manifest: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        Path(folder, mf.MANIFEST_NAME).write_text(manifest, encoding="utf-8")
        yield Path(folder)


def prefixes(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del stack
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(folder / shared["tokenizer"]))
    golden = json.loads((folder / GOLDEN).read_text(encoding="utf-8"))

    def pair(parts: Any) -> Given:
        return dict(zip(("fixed", "rest"), map(_plain, parts), strict=True))

    return {
        "split": lambda given: pair(prefix.split(given["prompt"])),
        "fill": lambda given: pair(prefix.encode(tokenizer, given["prompt"], given["query"], given["notes"])),
        "made_from": partial(_made_from, golden),
        "load": partial(_load, golden),
        "drafts": _drafted,
    }


def _plain(part: Any) -> Any:
    return part if isinstance(part, str) else list(part)


def _made_from(golden: Given, given: Given) -> Given:
    artifacts = [
        golden["artifacts"][0] | {"role": f"llm_{role}", "target": "onnx", "sha256": given[role]}
        for role in ("decoder", "embed")
    ]
    made = mf.from_json(json.dumps(golden | {"artifacts": artifacts}), "x")
    return {"sha256": prefix.made_from(made, "onnx", tuple(given["ids"]))}


def _drafted(given: Given) -> Given:
    """The guesses at a `text` that a model writes after a `prompt`."""
    drafts, text, guesses = Drafts(given["prompt"]), given["text"], []
    at = told = 0
    while at < len(text):
        at += 1
        guess = drafts.guess(text[told:at], MOST)
        right = common(guess, text[at:])
        if guess:
            drafts.judge(len(guess), right)
        guesses.append(list(guess))
        told, at = at, at + right
    return {"guesses": guesses}


def _load(golden: Given, given: Given) -> Given | None:
    entry, ids = given["entry"], tuple(given["ids"])
    raw = golden | {"artifacts": given["artifacts"], "language": given["language"], "prefixes": [entry]}
    with bundle({entry["path"]: base64.b64decode(given["npy"])}, "{}") as stage:
        loaded = prefix.load(stage, mf.from_json(json.dumps(raw), "x"), "onnx", "refine", ids)
    if loaded is None:
        return None
    return {"shape": list(loaded.cache.shape), "last": floats(loaded.cache.reshape(-1)[-4:])}


def errors(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    """What a search refuses before it opens anything, and files that are not gazetteers."""
    del shared, stack

    def search(given: Given) -> None:
        query = given["query"]
        text = query if isinstance(query, str) else query[0] * query[1]
        check(text, given["k"], given["refined_by"], given["mode"])

    return {"search": search, "gazetteer": lambda given: Gazetteer.open(folder / given["file"]).close()}
