"""Profiles are read, the nodes that ran are mapped to the layers and the work of the exported graph, and
fallbacks are named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the bench extra")
from onnx import helper, numpy_helper

from gamer.bench.cost import counting, fallbacks, graph, ops
from gamer.bench.cost.ceilings import Ceilings, Rate
from gamer.bench.cost.fallbacks import ExecutedNode
from gamer.bench.cost.nodes import Graph
from tests.console import gamer

RATES = tuple(Rate(p, 1, g) for p, g in (("fp32", 10.0), ("int8", 40.0), ("int4", 20.0)))
HERE = Ceilings(2, RATES, 5.0, 10.0, 100.0, 1.0, 1.0, 0.0, {})


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("/layers.3/attention/MatMul_1", "layers.3"),
        ("/network/blocks.12/project/Conv", "network.blocks.12"),
        ("/layers.0.qkv/MatMulNBits", "layers.0"),
        ("/head/MatMulNBits", "head"),
        ("Gelu_token_0", ""),
    ],
)
def test_the_layer_is_read_from_the_name_of_a_node(name: str, layer: str) -> None:
    assert ops.layer_of(name) == layer


def node(name: str, us: float, at: float, op: str = "MatMul") -> dict[str, Any]:
    return {"cat": "Node", "name": f"{name}_kernel_time", "ts": at, "dur": us, "args": {"op_name": op}}


def test_a_profile_gives_the_median_of_its_last_runs() -> None:
    events = [{"cat": "Session", "name": "model_run", "ts": 100.0 * n, "dur": 50.0 + n} for n in range(4)]
    events += [node("a", 1000.0, 5.0)]  # the first run is a warm-up
    events += [node("a", us, 100.0 * n + 5) for n, us in ((1, 10.0), (2, 30.0), (3, 20.0))]
    events += [node("b", 5.0, 100.0 * n + 40) for n in (1, 2, 3)] + [
        node("b", 5.0, 100.0 * n + 45) for n in (1, 2, 3)
    ]  # twice a run
    total, nodes = ops.read_profile(events, 3)
    assert total == 52.0
    assert {n.name: n.us for n in nodes} == {"a": 20.0, "b": 10.0}


def saved(path: Path, nodes: list[Any], weights: dict[str, Any]) -> Graph:
    out = helper.make_tensor_value_info(nodes[-1].output[0], 1, None)
    model = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [4, 8])],
        [out],
        [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    path.write_bytes(
        helper.make_model(model, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    )
    return graph.read(path, {})


def test_fused_nodes_take_the_work_of_the_nodes_they_replace(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["/l.0/y"], name="/l.0/MatMul"),
        helper.make_node("MatMul", ["/l.0/y", "v"], ["/l.1/y"], name="/l.1/MatMul"),
        helper.make_node("Relu", ["/l.1/y"], ["/l.1/z"], name="/l.1/Relu"),
        helper.make_node("MatMul", ["/l.1/z", "v"], ["/l.2/y"], name="/l.2/MatMul"),
    ]
    exported = saved(
        tmp_path / "m.onnx", nodes, {"w": np.ones((8, 16), np.float32), "v": np.ones((16, 16), np.float32)}
    )
    works = counting.count(exported)
    ran = [
        ExecutedNode(n, "FusedMatMul", "", us, 0, 0, "")
        for n, us in (("/l.0/MatMul/MatMulScaleFusion/", 10.0), ("/l.1/z_nchwc", 20.0), ("Gelu", 5.0))
    ]
    assigned = {n.name: n for n in ops.assign(ran, works, exported)}
    assert assigned["/l.0/MatMul/MatMulScaleFusion/"].macs == 4 * 8 * 16
    assert assigned["/l.1/z_nchwc"].macs == 4 * 16 * 16
    assert assigned["Gelu"].layer == "l.1"  # of the node before it
    assert (
        assigned[ops.UNTAKEN].macs == 4 * 16 * 16
    )  # no node that ran is named after the third product: its work is reported, not lost
    assert sum(n.macs for n in assigned.values()) == sum(w.macs for w in works)
    layers = {g.name: g for g in ops.groups(list(assigned.values()), lambda n: n.layer, HERE, False)}
    assert layers["l.1"].times == 2
    assert layers["l.1"].us == 25
    assert layers["l.0"].gflops == pytest.approx(2 * 512 / 10 / 1e3)
    assert layers["l.0"].roofline == pytest.approx(512 / 10e9 / 10e-6)
    assert sum(g.share for g in layers.values()) == pytest.approx(1)


def test_each_slower_kernel_is_reported_with_its_reason(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"], name="/q"),
        helper.make_node("MatMulInteger", ["xq", "w8", "xz"], ["i"], name="/a/MatMul_quant"),
        helper.make_node("Cast", ["i"], ["f"], name="/a/Cast", to=1),
        helper.make_node("MatMul", ["f", "w"], ["g"], name="/b/MatMul"),
        helper.make_node("Transpose", ["g"], ["t"], name="/t"),
        helper.make_node("MatMul", ["g", "t"], ["y"], name="/scores/MatMul"),
    ]
    exported = saved(
        tmp_path / "m.onnx", nodes, {"w8": np.ones((8, 8), np.int8), "w": np.ones((8, 8), np.float32)}
    )
    ran = [ExecutedNode(n.name, n.op, "", 1.0, 0, 0, "") for n in exported.nodes]
    reasons = {
        f.kernel + f.why[:40]: f.times
        for f in fallbacks.find(ops.assign(ran, counting.count(exported), exported), exported)
    }
    assert len(reasons) == 3
    assert sum("MatMulfloat in a quantized graph" in key for key in reasons) == 2
    assert any(key.startswith("MatMulIntegernot fused") for key in reasons)


@pytest.mark.slow
def test_bench_ops_assigns_every_multiply_add_to_a_node_that_ran(bundle: Path, tmp_path: Path) -> None:
    words = ("bench", "ops", "-b", bundle, "-r", 1, "--output", tmp_path / "o.json")
    done = gamer(*words, "image_tower", "llm_decode")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "o.json").read_text())
    counted = {c["role"]: c["macs"] for c in json.loads((bundle / "manifest.json").read_text())["components"]}
    image, decode = result["tables"]
    assert sum(n["macs"] for n in image["nodes"]) == counted["image_tower"]
    assert ops.UNTAKEN not in {n["name"] for n in image["nodes"]}
    assert {g["name"] for g in image["kernels"]} >= {"QLinearConv"}
    assert "layers.29" in {g["name"] for g in decode["layers"]}
    assert all(n["us"] > 0 for n in image["nodes"] if n["macs"] > 1_000_000)
    assert "ExecuTorch" in done.stdout
    assert "{" not in done.stdout
    refused = gamer(*words, "nothing")
    assert refused.returncode == 1
    assert "llm_decode" in refused.stderr
