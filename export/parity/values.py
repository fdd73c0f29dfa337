"""The values inside a component as torch and an artifact compute them, under the paths of torch's modules.

ONNX: a traced graph names its values after the modules' scopes, a language model's, written node by node,
after the modules themselves. Core ML: an operation is of the module whose parameter it takes, whose name the
converter keeps. A module that is called more than once, and one whose value an
engine has fused away, has no value here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from gamer.runtime.backends import Array
from gamer.runtime.backends.coreml_backend import MAIN
from gamer.runtime.backends.onnx_backend import session_options
from gamer.runtime.bundle.manifest import Artifact
from gamer.runtime.telemetry import load_onnxruntime

from ..components.export_module import ExportModule
from ..coreml.mil.interpreter import Interpreter
from ..coreml.mil.program import Program
from ..errors import ExportError
from ..recipe import LLM_ROLES
from .reference import TorchSession

Values = dict[str, Array]
_ROUNDING = ("quantizelinear", "dequantizelinear", "quantize", "dequantize")
Makers = dict[str, tuple[str, tuple[str, ...]]]
_SCOPED = re.compile(r"/(.+)/[^/]+_output_\d+")
# Operators that say nothing of the layer that they are in.
_ASIDE = (
    "add", "cast", "concat", "constant", "div", "expand", "expand_dims", "gather", "identity", "mul",
    "reshape", "shape", "slice", "slice_by_index", "split", "squeeze", "sub", "transpose", "unsqueeze",
    *_ROUNDING,
)  # fmt: skip


@dataclass(frozen=True)
class Graph:
    """`makers`: value → its operator and what that takes. `values`: module → the value that is its output."""

    makers: Makers
    values: dict[str, str]

    @cached_property
    def read(self) -> dict[str, str]:
        """Module → the value compared as its output: where it is quantized, what those behind it get."""
        after = {
            taken: name
            for name, (op, all_taken) in self.makers.items()
            if op.lower() in _ROUNDING
            for taken in all_taken
        }
        codes = {path: after.get(value, "") for path, value in self.values.items()}
        return {path: after.get(codes[path], value) for path, value in self.values.items()}

    def operator(self, module: str) -> str:
        """The operator that does the module's work: its last one that does more than move or add numbers."""
        makers = [self.makers[name][0] for name in self._own(module)]
        return next((op for op in makers if op.lower() not in _ASIDE), makers[0])

    def before(self, module: str) -> tuple[str, ...]:
        """The modules whose values this one takes, through operators that belong to no module."""
        modules = {value: path for path, value in self.values.items()}
        taken = [name for own in self._own(module) for name in self.makers[own][1]]
        return tuple(dict.fromkeys(modules[name] for name in taken if name in modules))

    def _own(self, module: str) -> Iterator[str]:
        """The values between a module's output and the outputs of those before it, the nearest first."""
        stops, waiting, seen = set(self.values.values()), [self.values[module]], set[str]()
        while waiting:
            name = waiting.pop(0)
            if name in self.makers and name not in seen:
                seen.add(name)
                yield name
                waiting += [taken for taken in self.makers[name][1] if taken not in stops]


class Watched:
    """A torch module as a Session that keeps what its modules give: `calls[n][path]` of the n-th call."""

    def __init__(self, item: ExportModule) -> None:
        self._session, self.item, self.calls = TorchSession(item), item, list[Values]()
        self.artifact = self._session.artifact

    def run(self, inputs: Values) -> Values:
        seen: dict[str, list[Array]] = {}

        def keep(path: str) -> Callable[[nn.Module, Any, Any], None]:
            def hook(module: nn.Module, given: Any, out: Any) -> None:
                if isinstance(out, torch.Tensor):
                    seen.setdefault(path, []).append(out.numpy())

            return hook

        hooks = [m.register_forward_hook(keep(path)) for path, m in self.item.module.named_modules() if path]
        try:
            out = self._session.run(inputs)
        finally:
            for hook in hooks:
                hook.remove()
        once = {path: values[0] for path, values in seen.items() if len(values) == 1}
        self.calls.append({**once, **out})
        return out


class OnnxValues:
    """An ONNX artifact as a Session that gives the values of `graph` beside its outputs.

    A kernel that would fuse what is read is split there: figures may differ in the last digits from those of
    the artifact as it runs.
    """

    def __init__(self, path: Path, artifact: Artifact, modules: Iterable[str]) -> None:
        import onnx

        file = path / "model.onnx" if path.is_dir() else path
        if file.suffix != ".onnx":
            raise ExportError(
                f"{artifact.role}: an ORT file does not give its values: --onnx-format onnx does"
            )
        model = onnx.load(str(file), load_external_data=False)
        makers: Makers = {
            name: (node.op_type, tuple(node.input)) for node in model.graph.node for name in node.output
        }
        named = _written if artifact.role in LLM_ROLES else _traced
        self.graph = Graph(makers, named(makers, modules))
        self.artifact, self._outputs = artifact, [t.name for t in artifact.outputs]
        model.graph.output.extend(
            onnx.ValueInfoProto(name=name) for name in set(self.graph.read.values()) - set(self._outputs)
        )
        options = session_options(threads=2)
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", str(file.parent)
        )
        self._native: Any = load_onnxruntime().InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def run(self, inputs: Values) -> Values:
        """The values by module, and the outputs by name."""
        names = [*self.graph.read.values(), *self._outputs]
        keys = [*self.graph.read, *self._outputs]
        return dict(zip(keys, self._native.run(names, inputs), strict=True))


def _traced(makers: Makers, modules: Iterable[str]) -> dict[str, str]:
    """The last value in the scope of each module; of one whose last value is a child's, the child's alone."""
    last: dict[str, str] = {}
    for name in makers:
        if (match := _SCOPED.fullmatch(name)) is not None:
            scope = _path(match[1])
            last |= {".".join(scope[:n]): name for n in range(1, len(scope) + 1)}
    return _deepest({path: last[path] for path in modules if path in last})


def _path(scope: str) -> list[str]:
    """ "layers.0/mlp/mlp.2" → [layers, 0, mlp, 2]: a container's name is in its children's scopes, too."""
    parts: list[str] = []
    for part in scope.split("/"):
        parts[len(parts) :] = part.removeprefix(f"{parts[-1]}." if parts else "").split(".")
    return parts


def _deepest(values: dict[str, str]) -> dict[str, str]:
    owner: dict[str, str] = {}
    for path, value in sorted(values.items(), key=lambda pair: pair[0].count(".")):
        owner[value] = path
    return {path: value for path, value in values.items() if owner[value] == path}


def _written(makers: Makers, modules: Iterable[str]) -> dict[str, str]:
    """A language model's values are called as its modules, its norms by what they have done ("normed")."""
    ends = {"norm": "hidden" if "hidden" in makers else "states", "head": "logits"}
    found: dict[str, str] = {}
    for path in modules:
        by_head = path.replace("q_norm", "q.normed").replace("k_norm", "k.normed")
        name = next((form for form in (ends.get(path, path), f"{path}ed", by_head) if form in makers), None)
        if name is not None:
            found[path] = name
    return found


class ProgramValues:
    """A Core ML program as a session (mil/) that keeps its values: `calls[n][path]` of the n-th call."""

    def __init__(self, path: Path, artifact: Artifact, item: ExportModule) -> None:
        self.artifact, self._interpreter, self.calls = artifact, Interpreter(path), list[Values]()
        program = self._interpreter.program
        makers: Makers = {
            output.name: (
                operation.type,
                tuple(b for bound in operation.inputs.values() for b in bound if isinstance(b, str)),
            )
            for operation in program.operations
            for output in operation.outputs
        }
        self.graph = Graph(makers, _by_parameters(program, item.module))
        self._kinds = {i.name: i.type.dtype.held for i in program.inputs}
        self.functions = (MAIN,)  # whose values are kept, of however many there are

    def run_function(self, name: str, inputs: Values) -> Values:
        return self.run(inputs)

    def run(self, inputs: Values) -> Values:
        paths = {value: path for path, value in self.graph.read.items()}
        seen: dict[str, Array] = {}

        def keep(name: str, value: torch.Tensor) -> None:
            if name in paths:
                seen[paths[name]] = value.float().numpy().copy()

        given = {
            name: torch.from_numpy(np.ascontiguousarray(inputs[name])).to(kind)
            for name, kind in self._kinds.items()
        }
        out = {name: value.numpy() for name, value in self._interpreter.run(given, keep).items()}
        self.calls.append({**seen, **out})
        return self.calls[-1]

    def reset(self) -> None:
        self._interpreter.reset()

    def states(self) -> Values:
        return {name: value.numpy() for name, value in self._interpreter.states().items()}

    def set_states(self, values: Values) -> None:
        self._interpreter.set_states({name: torch.from_numpy(value) for name, value in values.items()})


def _by_parameters(program: Program, module: nn.Module) -> dict[str, str]:
    """Module → the value of the last operation that takes one of its parameters.

    The converter keeps the names of parameters, with endings, through its passes; those of operations it
    keeps only where it fuses nothing.
    """
    paths = {f"p_{n.replace('.', '_')}": n.rpartition(".")[0] for n, _ in module.named_parameters()}
    last: dict[str, str] = {}
    for operation in program.operations:
        if operation.type == "const" or operation.type.startswith("constexpr_"):
            continue
        # Equal constants are stored once, so that the bias of a product may have another module's name.
        taken = [operation.inputs["weight"]] if "weight" in operation.inputs else operation.inputs.values()
        for bound in (b for values in taken for b in values if isinstance(b, str)):
            # A step that keeps its cache is a module around the step (coreml/stateful.py).
            parts = bound.replace("p_step_", "p_", 1).split("_")
            begins = ("_".join(parts[:n]) for n in range(len(parts), 1, -1))
            path = next((paths[begin] for begin in begins if begin in paths), "")
            last |= {path: operation.outputs[0].name} if path else {}
    return last
