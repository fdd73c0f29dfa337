"""Suites `manifest` (old, new and hostile ones), `prefix` (a prompt's fixed beginning and its cache) and
`errors` (inputs that a search refuses).

They use small synthetic bundles.
"""

from __future__ import annotations

import base64
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.gazetteer import Gazetteer
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language import prefix
from gamer.runtime.search.engine import MAX_QUERY, check
from tools.conformance.fixture import Case, Suite, base64_of, floats

GOLDEN = "../manifest_v1.json"
Steps = list[str | int]


def committed(folder: Path) -> list[Suite]:
    return [_manifest(folder), _prefix(folder), _errors(folder)]


def refused(call: Callable[[], Any], part: str) -> str:
    try:
        call()
    except RuntimeFailure as error:
        assert part in str(error), error
        return part
    raise AssertionError(f"no error where one with {part!r} was expected")


def patched(raw: Any, path: Steps, value: Any) -> Any:
    """A copy of the JSON with the value at `path` set."""
    raw = json.loads(json.dumps(raw))
    parent = raw
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    return raw


_LANGUAGE = {
    "layers": 2,
    "kv_heads": 1,
    "head_dim": 4,
    "hidden": 8,
    "max_seq": 16,
    "rope_theta": 10000.0,
    "eos_ids": [0],
}
_PIXELS = {"resize": 8, "crop": 8, "interpolation": "bicubic", "mean": 1.0, "std": 2.0}
_PREFIX = {
    "prompt": "refine",
    "target": "onnx",
    "tokens": 3,
    "made_from": "00",
    "path": "prefixes/onnx-refine.npy",
    "bytes": 1,
    "sha256": "11",
}
_CONTRACT = {
    "inputs": [
        {
            "name": "pixels",
            "holds": "h",
            "layout": "l",
            "prepare": "p",
            "range": [0, 255.0],
            "normalised_by": "graph",
        },
        {
            "name": "ids",
            "holds": "h",
            "layout": "l",
            "prepare": "p",
            "file": "labels.json",
            "max_length": 7,
            "pad_to": 7,
        },
    ],
    "outputs": [{"name": "embedding", "holds": "h", "unit_length": True}, {"name": "patches", "holds": "h"}],
    "golden": {
        "inputs": {"ids": "labels.json"},
        "steps": "s",
        "output": "embedding",
        "want": "labels.json",
        "cosine": 0.98,
    },
}
_NEW: list[tuple[str, Steps, Any]] = [
    ("ranking", ["ranking"], {"text": 1.5, "fitted": "here"}),
    ("ranking-null", ["ranking"], None),
    ("prefixes", ["prefixes"], [_PREFIX]),
    ("language", ["language"], _LANGUAGE),
    ("language-window", ["language"], _LANGUAGE | {"window": 512, "rope_theta_local": 1e4}),
    ("float-as-int", ["thresholds", "rho"], 1),
    ("paper-delta", ["thresholds", "paper_delta"], 0.3),
    ("paper-delta-null", ["thresholds", "paper_delta"], None),
    ("not-run", ["artifacts", 0, "parity", "minimum"], None),
    ("channels", ["preprocessing"], _PIXELS | {"channel_mean": [1, 2, 3], "fit": "crop"}),
    ("schema-2", ["schema_version"], 2),
    ("schema-3", ["schema_version"], 3),
    ("contract", ["artifacts", 0, "contract"], _CONTRACT),
    ("contract-null", ["artifacts", 0, "contract"], None),
    ("contract-without-golden", ["artifacts", 0, "contract"], _CONTRACT | {"golden": None}),
    ("normalised", ["preprocessing"], _PIXELS | {"normalised_by": "graph"}),
    ("kernels", ["artifacts", 0, "parity", "kernels"], "onnxruntime 1.32.0, aarch64 neon dotprod"),
    ("prompt-more", ["prompts", "cues"], "{query}"),
    ("licence-unicode", ["licences", "größe"], "写真 🐶"),
    ("text-prompts", ["text_prompts"], {"query": "query: ", "memory": "passage: "}),
    ("text-prompts-half", ["text_prompts"], {"query": "query: "}),
    ("text-prompts-null", ["text_prompts"], None),
]
_WRONG: list[tuple[str, Steps, Any, str]] = [
    ("k-text", ["thresholds", "k"], "5", "thresholds.k"),
    ("k-bool", ["thresholds", "k"], True, "thresholds.k"),
    ("k-float", ["thresholds", "k"], 5.5, "thresholds.k"),
    ("k-zero", ["thresholds", "k"], 0, "thresholds.k"),
    ("delta-null", ["thresholds", "delta"], None, "thresholds.delta"),
    ("paper-delta-text", ["thresholds", "paper_delta"], "0.3", "thresholds.paper_delta"),
    ("path-number", ["files", 0, "path"], 5, "files[0].path"),
    ("resize-zero", ["preprocessing", "resize"], 0, "preprocessing.resize"),
    ("crop-huge", ["preprocessing", "crop"], 100_000, "preprocessing.crop"),
    ("slots-huge", ["language", "max_seq"], 10**9, "language.max_seq"),
    ("layers-negative", ["language", "layers"], -1, "language.layers"),
    ("head-odd", ["language", "head_dim"], 1, "language.head_dim"),
    ("dim", ["dim"], 0, "dim"),
    ("no-prompt", ["prompts"], {}, "refine"),
    ("prompt-number", ["prompts", "refine"], 3, "prompts.refine"),
    ("no-shape", ["artifacts", 0, "inputs", 0, "shape"], [], "shape"),
    ("shape-float", ["artifacts", 0, "inputs", 0, "shape"], [1.5], "artifacts[0].inputs[0].shape[0]"),
    ("unknown", ["artifacts", 0, "surprise"], 1, "surprise"),
    ("unknown-top", ["surprise"], 1, "surprise"),
    ("components-number", ["components"], 3, "components"),
    ("schema-99", ["schema_version"], 99, "schema version 99, this program reads 1 to 3"),
    ("kernels-number", ["artifacts", 0, "parity", "kernels"], 3, "artifacts[0].parity.kernels"),
    ("contract-number", ["artifacts", 0, "contract"], _CONTRACT | {"inputs": 3}, "contract.inputs"),
    ("contract-more", ["artifacts", 0, "contract"], _CONTRACT | {"surprise": 3}, "surprise"),
    ("normalised-number", ["preprocessing", "normalised_by"], 3, "preprocessing.normalised_by"),
    ("text-prompts-number", ["text_prompts"], {"query": 3}, "text_prompts.query"),
    ("text-prompts-more", ["text_prompts"], {"surprise": ""}, "surprise"),
    ("schema-text", ["schema_version"], "1", "no schema_version"),
]
_TEXTS = (
    ("empty", "", "JSON"),
    ("list", "[]", "no schema_version"),
    ("nothing", "{}", "no schema_version"),
    ("alone", '{"schema_version": 1}', "recipe"),
    ("deep", "[" * 5000, "JSON"),
    ("cut", '{"schema_version": 1, "recipe": "x', "JSON"),
    ("infinite", '{"schema_version": 1, "dim": 1e999}', "recipe"),
)


def _manifest(folder: Path) -> Suite:
    golden = json.loads((folder / GOLDEN).read_text(encoding="utf-8"))
    cases = [_read("golden", [], None, golden)]
    cases += [_read(name, path, value, golden) for name, path, value in _NEW]
    for name, path, value, part in _WRONG:
        text = json.dumps(patched(golden, path, value))
        given = {"op": "read", "file": GOLDEN, "set": [path, value]}
        cases.append(Case(name, given, error=refused(partial(mf.from_json, text, "x"), part)))
    for name in ("recipe", "artifacts", "thresholds", "licences"):
        raw = {key: value for key, value in golden.items() if key != name}
        given = {"op": "read", "file": GOLDEN, "drop": name}
        cases.append(
            Case(
                f"without-{name}",
                given,
                error=refused(partial(mf.from_json, json.dumps(raw), "x"), name),
            )
        )
    for name, text, part in (*_TEXTS, _channels_of_untrained_experts(golden)):
        cases.append(
            Case(name, {"op": "read", "text": text}, error=refused(partial(mf.from_json, text, "x"), part))
        )
    return Suite("manifest", (*cases, *_asked(golden), *_paths(), *_files(golden)))


def _channels_of_untrained_experts(golden: Any) -> tuple[str, str, str]:
    expert = golden["components"][0] | {"role": "dpe_expert_0", "trained": False}
    channels = [{"name": "dpe:text:00000000", "query": "text", "dim": 4}]
    raw = patched(patched(golden, ["components", 0], expert), ["channels"], channels)
    return "untrained-channels", json.dumps(raw), "channels: dpe_expert_0 is not trained"


def _read(name: str, path: Steps, value: Any, golden: Any) -> Case:
    manifest = mf.from_json(json.dumps(patched(golden, path, value) if path else golden), "x")
    return Case(
        name, {"op": "read", "file": GOLDEN} | ({"set": [path, value]} if path else {}), told(manifest)
    )


def told(manifest: mf.Manifest) -> dict[str, Any]:
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
        else [pixels.resize, pixels.crop, pixels.interpolation, pixels.fit],
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


def _asked(golden: Any) -> Iterator[Case]:
    manifest = mf.from_json(json.dumps(golden), "x")
    for role, target in (("text_tower", "onnx"), ("text_tower", "coreml")):
        given = {"op": "artifact", "file": GOLDEN, "role": role, "target": target}
        yield Case(f"artifact-{target}", given, {"path": manifest.artifact(role, target).path})
    for role, target, part in (
        ("text_tower", "executorch", "coreml, onnx"),
        ("nonsense", "onnx", "no onnx artifact for nonsense"),
    ):
        given = {"op": "artifact", "file": GOLDEN, "role": role, "target": target}
        yield Case(
            f"no-artifact-{role}-{target}",
            given,
            error=refused(partial(manifest.artifact, role, target), part),
        )
    yield Case(
        "no-file",
        {"op": "file", "file": GOLDEN, "name": "x"},
        error=refused(lambda: manifest.file("x"), "no file 'x'"),
    )


def _paths() -> Iterator[Case]:
    with tempfile.TemporaryDirectory() as folder:
        for n, path in enumerate(
            ["../secret", "/etc/passwd", "onnx/../../secret", "a/../../b", "labels\0.json", "..", "onnx/.."]
        ):
            yield Case(
                f"path-{n}",
                {"op": "path", "path": path},
                error=refused(partial(mf.inside, Path(folder), path), "leaves the bundle"),
            )
        for n, path in enumerate(["labels.json", "onnx/text.onnx", "./a", "a..b/c"]):
            mf.inside(Path(folder), path)
            yield Case(f"path-good-{n}", {"op": "path", "path": path}, {"inside": True})


@contextmanager
def bundle(files: dict[str, bytes], manifest: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        Path(folder, mf.MANIFEST_NAME).write_text(manifest, encoding="utf-8")
        yield Path(folder)


def _files(golden: Any) -> Iterator[Case]:
    """Small bundles with every hash checked: an intact one, with a directory as an artifact, and damaged
    ones.
    """
    files = {
        "onnx/text_tower.onnx": b"weights",
        "labels.json": b'["cat"]',
        "coreml/text.mlpackage/x": b"1",
        "coreml/text.mlpackage/Data/y": b"23",
        "coreml/text.mlpackage/Data-more/z": b"4",  # after Data/ by its parts, before it as a string
    }
    with bundle(files, "{}") as folder:
        digests = {
            name: mf.digest(folder / name)
            for name in ("onnx/text_tower.onnx", "labels.json", "coreml/text.mlpackage")
        }
    artifact = golden["artifacts"][0]
    raw = golden | {
        "artifacts": [
            artifact | {"target": t, "path": p, "bytes": digests[p][0], "sha256": digests[p][1]}
            for t, p in (("onnx", "onnx/text_tower.onnx"), ("coreml", "coreml/text.mlpackage"))
        ],
        "files": [
            {
                "name": "labels.json",
                "path": "labels.json",
                "bytes": digests["labels.json"][0],
                "sha256": digests["labels.json"][1],
            }
        ],
    }
    text = json.dumps(raw)
    yield _checked("bundle-whole", files, text, None)
    yield _checked("bundle-flipped", files | {"labels.json": b'["cow"]'}, text, "labels.json")
    yield _checked("bundle-cut", files | {"onnx/text_tower.onnx": b""}, text, "0 bytes")
    yield _checked(
        "bundle-missing",
        {name: data for name, data in files.items() if name != "labels.json"},
        text,
        "missing",
    )
    yield _checked(
        "bundle-renamed",
        {name.replace("/x", "/z"): data for name, data in files.items()},
        text,
        "it changed since export",
    )
    outside = raw | {"files": [raw["files"][0] | {"path": "../labels.json"}]}
    yield _checked("bundle-outside", files, json.dumps(outside), "leaves the bundle")


def _checked(name: str, files: dict[str, bytes], text: str, part: str | None) -> Case:
    given = {
        "op": "check",
        "files": {path: base64.b64encode(data).decode() for path, data in files.items()},
        "text": text,
    }
    with bundle(files, text) as folder:
        if part is None:
            mf.check(folder, mf.read(folder))
            return Case(name, given, {"whole": True})
        return Case(name, given, error=refused(lambda: mf.check(folder, mf.read(folder)), part))


_PROMPT = (
    "<|im_start|>system\nSay it "
    "plainly.<|im_end|>\n<|im_start|>user\n{notes}{query}<|im_end|>\n<|im_start|>assistant\n"
)


def _prefix(folder: Path) -> Suite:
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizers" / "bpe_bytelevel.json"))
    cases: list[Case] = []
    for n, prompt in enumerate([_PROMPT, "{query}", "a {notes} b {query} c", "x{query}{query}"]):
        fixed, rest = prefix.split(prompt)
        cases.append(Case(f"split-{n}", {"op": "split", "prompt": prompt}, {"fixed": fixed, "rest": rest}))
        for m, (query, notes) in enumerate(
            [("red car", ""), ("{notes} and {query}", "<notes>Lena</notes>\n"), ("", "x")]
        ):
            ids = prefix.encode(tokenizer, prompt, query, notes)
            given = {"op": "fill", "prompt": prompt, "query": query, "notes": notes}
            cases.append(Case(f"fill-{n}-{m}", given, {"fixed": list(ids[0]), "rest": list(ids[1])}))
    cases.append(
        Case(
            "split-none",
            {"op": "split", "prompt": "no place"},
            error=refused(lambda: prefix.split("no place"), "has no {query}"),
        )
    )
    cases.append(
        Case(
            "split-notes",
            {"op": "split", "prompt": "{notes}"},
            error=refused(lambda: prefix.split("{notes}"), "has no {query}"),
        )
    )
    return Suite("prefix", (*cases, *_loaded(folder)), {"tokenizer": "tokenizers/bpe_bytelevel.json"})


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _loaded(folder: Path) -> Iterator[Case]:
    golden = json.loads((folder / GOLDEN).read_text(encoding="utf-8"))
    ids, shape = (5, 6, 7), (2, 2, 1, 3, 4)
    cache = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 7
    artifacts = [
        golden["artifacts"][0] | {"role": role, "target": "onnx", "sha256": mark * 64}
        for role, mark in (("llm_decoder", "a"), ("llm_embed", "b"))
    ]
    fingerprint = prefix.made_from(
        mf.from_json(json.dumps(golden | {"artifacts": artifacts}), "x"), "onnx", ids
    )
    yield Case(
        "made-from",
        {"op": "made_from", "decoder": "a" * 64, "embed": "b" * 64, "ids": list(ids)},
        {"sha256": fingerprint},
    )
    good = _npy(cache)
    changes: list[tuple[str, bytes, dict[str, Any], str | None]] = [
        ("whole", good, {}, None),
        ("other-prompt", good, {"prompt": "cues"}, None),
        ("other-weights", good, {"made_from": "c" * 64}, "made from other weights"),
        ("no-array", b"not an array at all", {}, "no array"),
        ("cut", good[:-9], {}, "no array"),
        (
            "pickle",
            b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(127)
            + b"\n\x80\x04K\x01.",
            {},
            "no array",
        ),
        ("float64", _npy(cache.astype(np.float64)), {}, "wants float32 [2, 2, 1, 3, 4]"),
        ("other-shape", _npy(cache[:1]), {}, "wants float32 [2, 2, 1, 3, 4]"),
    ]
    for name, data, change, part in changes:
        entry = {**_PREFIX, "tokens": 3, "made_from": fingerprint, **change}
        with bundle({"prefixes/onnx-refine.npy": data}, "{}") as stage:
            entry["bytes"], entry["sha256"] = mf.digest(stage / "prefixes/onnx-refine.npy")
            manifest = mf.from_json(
                json.dumps(golden | {"artifacts": artifacts, "language": _LANGUAGE, "prefixes": [entry]}), "x"
            )
            given = {
                "op": "load",
                "npy": base64_of(data),
                "artifacts": artifacts,
                "language": _LANGUAGE,
                "entry": entry,
                "ids": list(ids),
            }
            if part is not None:
                yield Case(
                    f"load-{name}",
                    given,
                    error=refused(partial(prefix.load, stage, manifest, "onnx", "refine", ids), part),
                )
                continue
            loaded = prefix.load(stage, manifest, "onnx", "refine", ids)
            yield Case(
                f"load-{name}",
                given,
                None
                if loaded is None
                else {"shape": list(loaded.cache.shape), "last": floats(loaded.cache.reshape(-1)[-4:])},
            )


def _errors(folder: Path) -> Suite:
    """What a search refuses before it opens anything, and files that are not gazetteers.

    `query` may be [text, count]: the text repeated.
    """
    wrong: list[tuple[str, Any, int, str, str, str]] = [
        ("empty", "", 5, "fast", "fused", "the query is empty"),
        ("blank", " \t\n", 5, "fast", "fused", "the query is empty"),
        ("long", ["ab ", MAX_QUERY // 3 + 1], 5, "fast", "fused", f"give at most {MAX_QUERY}"),
        ("k-0", "cat", 0, "fast", "fused", "choose 1 to 1000"),
        ("k-1001", "cat", 1001, "fast", "fused", "choose 1 to 1000"),
        ("refine", "cat", 5, "magic", "fused", "unknown refinement 'magic'; choose one of: off, fast, llm"),
        ("mode", "cat", 5, "fast", "plain", "unknown mode 'plain'; choose one of: fused, paper"),
    ]
    cases = []
    for name, query, k, refined_by, mode, part in wrong:
        text = query if isinstance(query, str) else query[0] * query[1]
        given = {"op": "search", "query": query, "k": k, "refined_by": refined_by, "mode": mode}
        cases.append(Case(name, given, error=refused(partial(check, text, k, refined_by, mode), part)))
    for name, file, part in (
        ("album", "album.gamer", "is not a gazetteer"),
        ("missing", "nowhere.sqlite", "no gazetteer at"),
        ("text", "README.md", "is not a gazetteer"),
    ):
        cases.append(
            Case(
                f"gazetteer-{name}",
                {"op": "gazetteer", "file": file},
                error=refused(partial(Gazetteer.open, folder / file), part),
            )
        )
    return Suite("errors", tuple(cases))
