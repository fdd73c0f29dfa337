"""A fleet's figures are computed from its users' files, whether the local engine or Ray wrote them; Ray
listens on loopback only.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.bench.cli.bench import bench
from gamer.bench.retrieval import fleet, synthetic
from gamer.bench.retrieval.datasets import DatasetError
from gamer.bench.retrieval.fleet_engines import ENGINES
from gamer.bench.retrieval.quality import ScoredQuery, ScoredUser
from gamer.index import Photo, scan
from tests.bench.retrieval.data_sets import write


@given(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(1, 20))
@settings(max_examples=40)
def test_a_synthetic_user_is_reproducible_and_each_query_has_its_answers(
    seed: int, number: int, photos: int
) -> None:
    user = synthetic.make(seed, number, photos)
    assert user == synthetic.make(seed, number, photos)
    rows = [json.loads(line) for line in user.lines]
    ids = {row["id"] for row in rows}
    assert len(ids) == photos == len(rows)
    for query in user.queries:
        assert query.relevant
        assert set(query.relevant) <= ids
        places = [name for name, *_ in synthetic.PLACES if query.text.endswith(f" in {name}")]
        for row in rows:  # an answer lies at the place that its query names
            if places and row["id"] in query.relevant:
                assert (row["lat"], row["lon"]) in [
                    place[1:] for place in synthetic.PLACES if place[0] == places[0]
                ]


def test_synthetic_users_differ_and_can_be_scanned_as_photos(tmp_path: Path) -> None:
    one, other = synthetic.make(0, 1, 8), synthetic.make(0, 2, 8)
    assert one.lines != other.lines
    assert synthetic.make(1, 1, 8).lines != one.lines
    synthetic.write(one, tmp_path / "a.jsonl")
    scanned = list(scan(tmp_path / "a.jsonl"))
    assert len(scanned) == 8
    assert all(isinstance(item, Photo) and item.lat is not None and item.memories for item in scanned)


def test_the_plan_multiplies_the_mean_user_by_the_number_of_users(tmp_path: Path) -> None:
    jobs = [fleet.Job(name, None, "") for name in ("a", "b")]
    for job, seconds in zip(jobs, (1.0, 3.0), strict=True):
        asked = ScoredUser(job.name, 10, (ScoredQuery("q", job.name, 1, {"ours": (1,)}),), {"ours": 1.0}, {})
        result = fleet.UserResult("k", asked, seconds, 0.5, 1_000_000)
        (tmp_path / f"{job.name}.json").write_text(json.dumps(asdict(result)))
    total = fleet.summed(jobs, fleet.FleetSettings("b", str(tmp_path), ("ours",)), "local", 1, 2, 4.0, 36_000)
    assert (total.plan.core_seconds_per_user, total.plan.core_seconds_per_photo, total.users_per_second) == (
        2.5,
        0.25,
        0.5,
    )
    assert total.plan.hours == {"2": 12.5, "16": 1.56, "128": 0.2}
    assert total.plan.albums_gb == 36.0
    assert total.methods[0].scores["recall5"].mean == 1.0
    assert (total.photos, total.queries) == (20, 2)
    (tmp_path / "b.json").write_text('{"key": "k", "asked": {')
    with pytest.raises(DatasetError, match="no result of b"):
        fleet.summed(jobs, fleet.FleetSettings("b", str(tmp_path), ("ours",)), "local", 1, 2, 4.0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to do"),
        (("--synthetic", "1", "--address", "auto"), "engine=ray"),
        (("--engine", "spark"), "spark"),
    ],
)
def test_wrong_fleet_arguments_exit_2_and_name_the_fault(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = CliRunner().invoke(
        bench, ["fleet", "-b", str(tmp_path), "--results", str(tmp_path / "r"), *options]
    )
    assert done.exit_code == 2
    assert message in done.output


def results(folder: Path) -> dict[str, object]:
    """Every user's result without its times."""
    files = {path.stem: fleet.read(path) for path in sorted(folder.glob("*.json"))}
    return {
        name: (one.key, replace(one.asked, milliseconds={})) for name, one in files.items() if one is not None
    }


def listening_beyond_loopback() -> list[str]:
    """Addresses other than loopback, as the kernel writes them, on which this process or a descendant
    listens.
    """
    ours, parents = {os.getpid()}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    for _ in range(6):
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    sockets = set()
    for pid in ours:
        try:
            links = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
            sockets |= {link[8:-1] for link in links if link.startswith("socket:[")}
        except OSError:
            continue
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    open_ = [row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets]
    assert open_, "Ray listens somewhere"
    return [
        address
        for address in open_
        if not address.endswith("0100007F") and address != "00000000000000000000000001000000"
    ]


@pytest.mark.slow
def test_a_run_continues_where_it_stopped_and_another_setting_starts_anew(
    bundle: Path, tmp_path: Path
) -> None:
    jobs = fleet.jobs_of([write(tmp_path / "small")], 2, 7, 6)
    assert [job.name for job in jobs] == ["small-ann", "small-bob", "made-7-00000", "made-7-00001"]
    how = fleet.FleetSettings(str(bundle), str(tmp_path / "r"), ("dense",))
    progress: list[str] = []

    def run(settings: fleet.FleetSettings) -> int:
        return ENGINES["local"](
            jobs, settings, 1, None, lambda count, total, name: progress.append(f"{count}/{total} {name}")
        )

    assert run(how) == 4
    assert progress[-1] == "4/4 made-7-00001"
    first = results(tmp_path / "r")
    assert len(first) == 4
    assert run(how) == 0
    (tmp_path / "r" / "made-7-00001.json").write_text('{"torn')
    (tmp_path / "r" / "small-ann.json").unlink()
    assert run(how) == 2
    assert results(tmp_path / "r") == first
    assert run(replace(how, methods=("bm25",))) == 4
    assert not [path for path in (tmp_path / "r").iterdir() if path.suffix != ".json"]


@pytest.mark.slow
def test_ray_gives_the_results_of_the_local_engine_and_listens_on_loopback_only(
    bundle: Path, tmp_path: Path
) -> None:
    if find_spec("ray") is None:  # importing it here would fix its settings
        pytest.skip("needs the fleet extra")
    jobs = fleet.jobs_of([write(tmp_path / "small")], 4, 0, 8)
    addresses: list[str] = []

    def look_at_sockets(count: int, total: int, name: str) -> None:
        if "ray" in sys.modules and count == 1 and Path("/proc/net/tcp").exists():
            addresses.extend(listening_beyond_loopback())

    how = fleet.FleetSettings(str(bundle), "", ("ours", "dense", "bm25"))
    done = {
        engine: run(jobs, replace(how, results=str(tmp_path / engine)), 2, None, look_at_sockets)
        for engine, run in ENGINES.items()
    }
    assert done == {"local": 6, "ray": 6}
    assert addresses == []
    ours = results(tmp_path / "local")
    assert len(ours) == 6
    assert ours == results(tmp_path / "ray")


@pytest.mark.slow
def test_an_existing_ray_cluster_measures_users_and_names_one_that_fails(
    bundle: Path, tmp_path: Path
) -> None:
    if find_spec("ray") is None:
        pytest.skip("needs the fleet extra")
    with cluster(tmp_path) as address:
        command = [
            sys.executable,
            "-m",
            "gamer.main",
            "bench",
            "fleet",
            "-b",
            str(bundle),
            "--results",
            str(tmp_path / "r"),
            "-m",
            "dense",
        ]
        command += [
            "--synthetic",
            "2",
            "--photos",
            "4",
            "--engine",
            "ray",
            "--workers",
            "1",
            "--address",
            address,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | TOKEN)
        (write(tmp_path / "bad", ("eve",)) / "eve.corpus.jsonl.gz").write_bytes(gzip.compress(b"[]"))
        failed = subprocess.run(
            [*command, str(tmp_path / "bad")],
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | TOKEN,
        )
    assert failed.returncode == 1
    assert "gamer bench study fleet: bad-eve: " in failed.stderr
    assert "eve.corpus.jsonl.gz:1" in failed.stderr
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 users in" in done.stdout, done.stderr[-2000:]
    assert set(results(tmp_path / "r")) == {"made-0-00000", "made-0-00001"}


TOKEN = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0123456789abcdef" * 4,
}


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A Ray cluster of one machine on loopback, started by `ray start` and stopped by ending that process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        tempfile.TemporaryDirectory(prefix="gr-", ignore_cleanup_errors=True) as aside,
        (folder / "ray.log").open("w") as log,
    ):
        command = [
            sys.executable,
            "-m",
            "ray.scripts.scripts",
            "start",
            "--head",
            "--block",
            "--disable-usage-stats",
            "--include-dashboard",
            "false",
        ]
        command += [
            "--port",
            str(port),
            "--num-cpus",
            "1",
            "--object-store-memory",
            str(80 * 2**20),
            "--temp-dir",
            aside,
        ]
        head = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | TOKEN)
        try:
            for _ in range(240):
                if "Local node IP" in (folder / "ray.log").read_text() and _answers(port):
                    break
                time.sleep(0.25)
            yield f"127.0.0.1:{port}"
        finally:
            head.terminate()
            head.wait(40)


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
