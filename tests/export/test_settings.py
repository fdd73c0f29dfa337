"""What the user requests of an export: sources by part, rules for tensors, and the way into the manifest and
back.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.errors import ExportError
from gamer.export.planning import networks, plan
from gamer.export.recipe import QUANTS, RECIPES, ROLES, TARGETS, THRESHOLDS
from gamer.export.settings import Settings, from_strings, parse_keep, parse_sources, recipe_for


def test_a_source_goes_to_its_part_or_to_all() -> None:
    assert parse_sources("clip-vit-l14", "./clip", ()) == (("image", "./clip"), ("text", "./clip"))
    assert dict(parse_sources("gamer-qwen2-1.5b", None, ("random:1", "llm=./qwen"))) == {
        "image": "random:1",
        "text": "random:1",
        "llm": "./qwen",
    }
    with pytest.raises(
        ExportError, match=r"made of several models: say which part \./q is, as in --weights llm=\./q"
    ):
        parse_sources("gamer-qwen2-1.5b", "./q", ())


def test_a_path_with_an_equals_sign_is_a_path() -> None:
    assert dict(parse_sources("clip-vit-b32", None, ("run=3/model",))) == {
        "image": "run=3/model",
        "text": "run=3/model",
    }


def test_an_unknown_part_before_an_existing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="'imge' must be one of the parts image, text"):
        parse_sources("clip-vit-b32", None, (f"imge={tmp_path}",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipe": "gamer-9000"}, "unknown recipe"),
        ({"quant": "int3"}, "choose one of: fp32"),
        ({"sources": (("llm", "x"),), "recipe": "clip-vit-b32"}, "has no part 'llm'; it has: image, text"),
        ({"group_size": 33}, "group size 33: choose"),
        ({"recipe": "llm"}, "no weights of its own: give -m"),
        ({"image_input": "jpeg"}, "choose prepared or any"),
        ({"onnx_format": "tflite"}, "ONNX format 'tflite': choose one of: onnx, ort"),
        ({"coreml_cache": "disk"}, "choose tensors or state"),
        ({"executorch_backend": "cuda"}, "choose one of: xnnpack, coreml, vulkan"),
    ],
)
def test_an_impossible_setting_is_refused_with_the_reason(change: dict[str, object], message: str) -> None:
    with pytest.raises(ExportError, match=message):
        Settings(**({"recipe": "pocket"} | change))  # type: ignore[arg-type]


def test_settings_are_read_back_from_the_manifest_unchanged() -> None:
    asked = Settings(
        "gamer-gpt2-xl",
        "int4",
        (("llm", "random:3"),),
        (("head", "int8"),),
        64,
        256,
        "any",
        True,
        "state",
        "ort",
        23,
        "iOS17",
        "photos",
        "vulkan",
    )
    assert from_strings(asked.to_strings()) == asked
    assert from_strings({"recipe": "pocket"}) == Settings(
        "pocket"
    )  # a bundle that is older than the settings
    with pytest.raises(ExportError, match="cannot be followed"):
        from_strings(asked.to_strings() | {"group_size": "many"})


def test_a_manifest_stores_only_the_last_part_of_a_local_path(tmp_path: Path) -> None:
    strings = Settings("llm", sources=(("llm", str(tmp_path)),)).to_strings()
    assert strings["sources"] == f"llm={tmp_path.name}"


def test_keep_rules_are_parsed_and_malformed_ones_are_refused() -> None:
    assert parse_keep("qkv,head=int8") == (("qkv", "int8"), ("head", "int8"))
    assert parse_keep("a,b=int8,onnx/text_tower/layers.3.up=int4/64") == (
        ("a", "int8"),
        ("b", "int8"),
        ("onnx/text_tower/layers.3.up", "int4/64"),
    )
    assert parse_keep("") == ()
    for wrong in ("embed", "embed=int5", "=int8", "a b=int8", "up=int4/48", "web/up=int8", "a=int8,b"):
        with pytest.raises(ExportError, match="--keep qkv,head=int8"):
            parse_keep(wrong)


def test_a_keep_rule_of_a_component_or_target_leaves_the_others_alone() -> None:
    keep = parse_keep("onnx/text_tower/up=int4/64,image_tower/up=fp16,down=int8")
    settings = Settings("pocket", keep=keep)
    assert settings.overrides_of("text_tower", "onnx") == (("up", "int4/64"), ("down", "int8"))
    assert settings.overrides_of("text_tower", "coreml") == (("down", "int8"),)
    assert settings.overrides_of("image_tower", "coreml") == (("up", "fp16"), ("down", "int8"))
    assert from_strings(settings.to_strings()) == settings


def test_every_quantization_that_a_recipe_can_give_has_a_threshold() -> None:
    for recipe in RECIPES.values():
        for quant in QUANTS:
            for target in TARGETS:
                for role in ROLES:
                    given = recipe.quant_of(role, target, quant)
                    assert given in THRESHOLDS
                    assert recipe.threshold(given, role).cosine > 0.8
                    assert given == quant or quant != "fp32"


def test_the_model_type_of_a_checkpoint_chooses_the_recipe() -> None:
    assert recipe_for({"model_type": "siglip"}) == "towers"
    assert recipe_for({"model_type": "qwen2"}) == "llm"


@pytest.mark.parametrize(
    ("recipe", "role", "parameters"),
    [
        ("clip-vit-l14", "image_tower", 303_966_208),
        ("clip-vit-l14", "text_tower", 123_650_304),
        ("gamer-qwen2-1.5b", "llm_embed", 233_373_696),
        ("gamer-gpt2-xl", "llm_embed", 80_411_200),
        ("gamer-flan-t5-xl", "llm_embed", 65_798_144),
    ],
)
def test_a_plan_knows_the_published_sizes(recipe: str, role: str, parameters: int) -> None:
    settings = Settings(recipe, sources=tuple((p, "random") for p in RECIPES[recipe].parts() if p != "dpe"))
    counted = networks.parameters(dict(networks.networks(settings))[role]())
    assert counted == pytest.approx(parameters, rel=1e-4)


def test_a_plan_needs_less_at_fewer_bits() -> None:
    full, small = (
        plan.predict(Settings("clip-vit-b32", quant, (("image", "random"), ("text", "random"))), ("onnx",))
        for quant in ("fp32", "int4")
    )
    assert small.bytes < full.bytes / 4.6
    assert {p.role: p.quant for p in small.artifacts} == {
        "image_tower": "int4",
        "text_tower": "int8",
    }
