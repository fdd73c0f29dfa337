"""The shipped prefix: the same answer with and without it; one of other weights, of another prompt or from a
damaged file is refused.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from gamer.runtime.backends import processor
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.errors import BundleError
from gamer.runtime.models.language import prefix
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models


class Letters:
    """A tokenizer of one token a letter."""

    def encode(self, text: str) -> Letters:
        self.ids = [ord(c) for c in text]
        return self


def test_values_are_filled_into_a_prompt_only_once() -> None:
    fixed, rest = prefix.encode(Letters(), "say {notes}: {query}.", "{notes} {query}", "n{query}")
    assert "".join(map(chr, fixed)) == "say "
    assert "".join(map(chr, rest)) == "n{query}: {notes} {query}."


def test_a_prompt_without_a_query_is_refused() -> None:
    with pytest.raises(BundleError, match=r"no \{query\}"):
        prefix.split("say {notes}")


@pytest.fixture(scope="module")
def models(bundle: Path) -> Models:
    opened = Models.open(bundle)
    if not opened.manifest.prefixes:
        pytest.skip("the bundle is of a time before prefix caches: export it again")
    return opened


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["onnx", "executorch"])
def test_the_logits_are_the_same_with_and_without_the_prefix(
    bundle: Path, models: Models, backend: str
) -> None:
    if not any(p.target == backend for p in models.manifest.prefixes):
        pytest.skip(f"the bundle was not exported for {backend}")
    if backend == "executorch":
        pytest.importorskip("executorch")
        models = Models.open(bundle, backend)
    ids, stored = models.prompt("refine", "my cat on the sofa"), models.prefix("refine")
    assert stored is not None
    assert 0 < len(stored.ids) < len(ids)
    lm = models.language_model
    logits = []
    for start in (0, len(stored.ids)):
        lm.decoder.reset()
        if start:
            lm.decoder.restore(stored.cache)
        logits.append(lm.decoder.forward(lm.embed(ids[start:]))[0].copy())
    assert np.argmax(logits[0]) == np.argmax(logits[1])
    if models.manifest.artifact("llm_decoder", backend).parity.kernels != processor.kernels(backend):
        # Another processor's kernels computed the cache: it is as close as the two kinds of kernels are.
        assert np.corrcoef(logits[0], logits[1])[0, 1] > 0.99
        return
    # The same numbers up to the order in which a longer product is summed.
    np.testing.assert_allclose(logits[0], logits[1], atol=0.25)
    assert np.corrcoef(logits[0], logits[1])[0, 1] > 0.999
    if backend == "onnx":
        with_it, without = (lm.generate(Request(ids, 12, plain=plain)) for plain in (False, True))
        assert with_it.ids == without.ids
        assert with_it.computed < without.computed


@pytest.mark.slow
@pytest.mark.parametrize("role", ["llm_decoder", "llm_embed"])
def test_a_prefix_of_other_weights_is_refused(models: Models, role: str) -> None:
    changed = tuple(
        dataclasses.replace(a, sha256="0" * 64) if a.role == role else a for a in models.manifest.artifacts
    )
    with pytest.raises(BundleError, match="other weights or another prompt"):
        Models(models.bundle, dataclasses.replace(models.manifest, artifacts=changed), "onnx", 1).prompt(
            "refine", "x"
        )


@pytest.mark.slow
def test_a_prefix_of_another_prompt_is_refused(models: Models) -> None:
    changed = dataclasses.replace(models.manifest, prompts={"refine": "Say something else. {query}"})
    with pytest.raises(BundleError, match="other weights or another prompt"):
        Models(models.bundle, changed, "onnx", 1).prompt("refine", "x")


@pytest.mark.slow
def test_a_damaged_prefix_is_refused(models: Models, tmp_path: Path) -> None:
    entry = next(p for p in models.manifest.prefixes if p.target == "onnx")
    copy = tmp_path / entry.path
    copy.parent.mkdir()
    shutil.copy(models.bundle / entry.path, copy)
    shutil.copy(models.bundle / "llm_tokenizer.json", tmp_path)
    copy.write_bytes(copy.read_bytes()[:-4])
    with pytest.raises(BundleError, match="changed since export"):
        Models(tmp_path, models.manifest, "onnx", 1).prompt(entry.prompt, "x")
    # An intact file of another decoder's shape.
    np.save(copy, np.zeros((1, 2, 3), np.float32))
    sized = dataclasses.replace(entry, bytes=mf.digest(copy)[0], sha256=mf.digest(copy)[1])
    with pytest.raises(BundleError, match="the decoder wants"):
        Models(tmp_path, dataclasses.replace(models.manifest, prefixes=(sized,)), "onnx", 1).prompt(
            entry.prompt, "x"
        )
