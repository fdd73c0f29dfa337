"""All studies, by name, and how each committed result was made."""

from __future__ import annotations

from .declaration import Study

_SEARCH = (
    "runtime/search", "runtime/cues", "runtime/models", "runtime/bundle", "index/album", "index/space",
    "index/vectors", "index/entities",
)  # fmt: skip
_RETRIEVAL = ("bench/retrieval", *_SEARCH)
_TRAINING = ("bench/learning.py", "export/training")

STUDIES = {
    study.name: study
    for study in (
        Study(
            "ablation",
            "what each layer, ρ and the language model are worth: the paper's Tables 4, 7, 10 and Figure 3",
            "retrieval.ablations",
            _RETRIEVAL,
            bundles="+",
            data="1",
        ),
        Study(
            "adapter",
            "what a query adapter finds, trained on titles: of users and queries that it has not seen",
            "adapter",
            ("bench/adapter.py", "export/training/queries.py", "runtime/models", *_SEARCH),
            data="+",
            extra="export",
        ),
        Study(
            "agent",
            "agents on questions of several steps, beside one search and BM25: quality, use, mistakes",
            "agent.study",
            ("bench/agent", "runtime/agent", *_SEARCH),
            data="?",
            album="?",
        ),
        Study(
            "alpha",
            "reinforcement with several α (Table 8)",
            "learning:ALPHA",
            _TRAINING,
            album="1",
            extra="export",
        ),
        Study(
            "ann",
            "filtered nearest neighbours beside usearch, hnswlib, faiss and sqlite-vec: recall and speed",
            "index.ann",
            ("bench/index", "index/vectors"),
            bundles="?",
            data="?",
        ),
        Study(
            "bits",
            "files by bits, target and cache beside fp32, and bits chosen by matrix in the same bytes",
            "cost.bits",
            ("bench/cost/bits.py", "export/budget", "export/quantize", "export/onnx"),
            bundles="",
            extra="export",
        ),
        Study(
            "calibrate",
            "calibrates δ and the ranking's weights of a bundle, and writes them if other users gain",
            "retrieval.calibrate",
            _RETRIEVAL,
            data="+",
        ),
        Study(
            "channels",
            "recall of photos by their pixels alone: labels, trained experts, and both",
            "channels",
            ("bench/channels.py", "export/training"),
            bundles="",
            data="+",
            album="1",
            extra="export",
        ),
        Study(
            "clips",
            "whether a sentence finds the second of a made video that shows it, and what a video costs",
            "clips",
            ("bench/clips.py", "index/ingest", "runtime/models"),
        ),
        Study(
            "continued",
            "40 queries a user, 30 learned and 10 measured, before and after (Table 11)",
            "continued",
            ("bench/continued.py", "export/training/queries.py", "runtime/models", *_SEARCH),
            data="+",
            extra="export",
        ),
        Study(
            "delta",
            "mode paper at each δ (Table 6), and with the δ that the other users choose",
            "retrieval.delta",
            _RETRIEVAL,
            data="+",
        ),
        Study(
            "events",
            "how well the rules segment photos into events, beside the best fixed gap",
            "events.measure",
            ("bench/events", "runtime/events"),
            data="1",
        ),
        Study(
            "exports",
            "what making bundles took and what they weigh; with peer=optimum, beside optimum",
            "exports",
            ("export",),
            bundles="*",
        ),
        Study(
            "fit",
            "the ranking's weights, cross-validated by user, and what each summand adds",
            "retrieval.fit_ranking",
            _RETRIEVAL,
            data="+",
        ),
        Study(
            "fleet",
            "many users' albums, each built, searched and scored on its own: here or on Ray",
            "retrieval.fleet_engines",
            _RETRIEVAL,
            data="*",
            extra="fleet",
        ),
        Study(
            "index",
            "how albums of growing size search, open and take a photo more",
            "index.growth",
            ("bench/index", *_SEARCH),
        ),
        Study(
            "indexing",
            "photos of twelve megapixels indexed a second, beside twenty lines of Python",
            "indexing",
            ("bench/indexing.py", "runtime/indexing", "index/ingest"),
        ),
        Study(
            "languages",
            "a small album asked in six languages, and translated queries to English memories, with glosses",
            "languages",
            (
                "bench/languages.py",
                "bench/languages.json",
                "bench/translated",
                "runtime/glosses",
                *_RETRIEVAL,
            ),
            data="*",
        ),
        Study(
            "llm",
            "the language model's speed (prefill, decode, first token), and what quantization cost",
            "llm",
            ("bench/llm.py", "runtime/models", "runtime/backends"),
            extra="export",
        ),
        Study(
            "llm-tasks",
            "the language models of bundles in what a search asks them, beside the rules",
            "llm_tasks.measure",
            ("bench/llm_tasks", "runtime/models", "runtime/search", "runtime/cues"),
            bundles="+",
            data="*",
        ),
        Study(
            "memory",
            "what the memory of the person finds, how it follows changes of mind, what it costs as it grows",
            "memory.measure",
            ("bench/memory", "runtime/memory", "index/memory"),
            data="?",
        ),
        Study(
            "memory-fit",
            "the weights of recall as fitted to all conversations",
            "memory.measure:FIT",
            ("bench/memory", "runtime/memory", "index/memory"),
            data="1",
        ),
        Study(
            "newcomer",
            "queries of a newcomer's album, both drawn by rule for each release: which come right",
            "newcomer.measure",
            ("bench/newcomer", "runtime/indexing", *_SEARCH),
            extra="ocr",
        ),
        Study(
            "page",
            "how soon the page of a large made album opens in Chromium, and how evenly it scrolls",
            "page",
            ("bench/page.py", "bench/chrome.py", "runtime/serve"),
            extra="dev",
        ),
        Study(
            "people",
            "how well faces are found and grouped, on a folder with a folder of pictures of each person",
            "people.measure",
            ("bench/people", "index/people", "runtime/models/faces.py"),
            data="1",
        ),
        Study(
            "questions",
            "how many of 960 typed questions are read as they are meant",
            "questions.measure",
            ("bench/questions", "runtime/questions", "runtime/cues"),
            bundles="",
        ),
        Study(
            "replay",
            "the paper's example queries (Table 9), layer by layer, in an album invented for them",
            "retrieval.replay",
            ("bench/retrieval/replay.py", *_SEARCH),
        ),
        Study(
            "spoken",
            "how 960 turns of typed conversations are answered, with those of an author nobody had looked at",
            "memory.spoken",
            ("bench/memory/spoken.py", "runtime/memory", "runtime/questions", *_SEARCH),
            extra="bench",
        ),
        Study(
            "things",
            "recall@5 with the bank of things, without it, and with another user's",
            "memory.things",
            ("bench/memory/things.py", "index/things", *_SEARCH),
            data="+",
        ),
        Study(
            "update",
            "what a checkpoint finds before and after it learned from searches (Table 11)",
            "learning:UPDATE",
            _TRAINING,
            bundles="",
            album="1",
            extra="export",
        ),
        Study(
            "withheld",
            "recall of photos whose memories are withheld, and of those beside them",
            "retrieval.withheld",
            _RETRIEVAL,
            data="+",
        ),
    )
}
# What the other commands of `gamer bench` that leave results measure.
COMMANDS = {
    "latency": ("bench/latency", *_SEARCH),
    "quality": _RETRIEVAL,
    "ops": ("bench/cost", "runtime/models", "runtime/backends"),
    "device": ("bench/phones", "bench/cost", "export/planning"),
}
