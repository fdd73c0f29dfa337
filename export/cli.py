"""The commands `gamer export` and `gamer verify`: they parse options, call one function and print its result.

Only this module turns errors into an exit code.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.cli.console import json_line, one_line, plain
from gamer.runtime.cli.screen import Screen

from .bundle.card import top1
from .bundle.limits import UNLIMITED, Limits, parse_sizes
from .errors import ExportError
from .glosses.sources import found, parse_dictionaries, parse_languages
from .graphs.files import WHY
from .planning import devices, phone_memory
from .progress import bar
from .recipe import CALIBRATED, QUANTS, RECIPES, ROLES, STATIC, TARGETS
from .settings import (
    COREML_CACHES,
    COREML_LAYOUTS,
    DEPLOYMENT_TARGETS,
    EXECUTORCH_BACKENDS,
    JOBS,
    KV_CACHES,
    LAYOUTS,
    ONNX_FORMATS,
    Settings,
    parse_adapters,
    parse_bars,
    parse_common,
    parse_keep,
    parse_parts,
    parse_sources,
    recipe_for,
)

if TYPE_CHECKING:
    from .parity.layers import Layers
    from .planning.plan import ExportPlan

ERR = Screen(stderr=True)
_WORDS = ("component", "target", "quantization", "layer", "operator")  # columns that are no numbers
_DTYPE = "gamer.export.dtype"


def _old_dtype(context: click.Context, _: click.Parameter, value: str | None) -> None:
    """Takes what --quant fp16 was called: --quant none --dtype fp16."""
    if value is not None:
        ERR.print(f"gamer export: --quant none --dtype {value} is called --quant {value} now")
        context.meta[_DTYPE] = value


def _for(context: click.Context, _: click.Parameter, purpose: str | None) -> str | None:
    """What --for npu says of --quant and --targets, where neither the command nor its file does."""
    if purpose is not None:
        given = dict(context.default_map or {})
        context.default_map = {"quant": STATIC[0], "targets": "onnx,coreml"} | given
    return purpose


def table(manifest: mf.Manifest) -> Table:
    """A table of components and targets with sizes and parity; it fits into 80 columns."""
    title = f"{manifest.recipe}, {manifest.quant}"
    out = _narrow(title, "component", "parameters", "target", "MB", "worst cosine", "top-1")
    for component in manifest.components:
        left = (component.role + ("" if component.trained else "*"), f"{component.parameters / 1e6:,.1f} M")
        for artifact in (a for a in manifest.artifacts if a.role == component.role):
            parity = artifact.parity
            cosine = "not run" if parity.minimum is None else f"{parity.minimum:.5f} ({parity.threshold:g})"
            tokens = top1(parity)
            out.add_row(
                *left, artifact.target + _marks(parity), f"{artifact.bytes / 1e6:.1f}", cosine, tokens
            )
            left = ("", "")
    out.caption = _legend(manifest)
    return out


def _narrow(title: str, *columns: str) -> Table:
    """A table whose cells are whole in 80 columns: numbers to the right, no lines between."""
    out = Table(title=title, box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), caption_justify="left")
    for name in columns:
        words = name in _WORDS
        out.add_column(name, justify="left" if words else "right", no_wrap=not words, overflow="fold")
    return out


def _marks(parity: mf.Parity) -> str:
    return ("°" if parity.executed_by.startswith("MIL") else "") + (
        "†" if parity.kernels.endswith(("unfused", "source graph")) else ""
    )


def _legend(manifest: mf.Manifest) -> str:
    """The explanation of the marks that the table uses, one line for each."""
    marks = "".join(_marks(a.parity) for a in manifest.artifacts)
    graphs = any(WHY in c.architecture for c in manifest.components)
    against = f"{'the fp32 graph of what is ' + WHY + '; else ' if graphs else ''}torch in fp32"
    notes = [f"in brackets: what had to be reached, against {against}"]
    notes += (
        ["*: random weights, for size and speed"] if any(not c.trained for c in manifest.components) else []
    )
    notes += ["°: run by an interpreter of the saved program"] if "°" in marks else []
    notes += ["†: with exact kernels, this processor's fast ones being wrong"] if "†" in marks else []
    return "\n".join(notes)


def parity_text(parity: mf.Parity) -> str:
    """One line: the worst cosine and a decoder's top-1 agreement, or the status if the artifact was not run.

    The executor is added where the MIL interpreter or exact kernels gave the figure.
    """
    if parity.minimum is None:
        return f"{parity.status}: {parity.executed_by}" if parity.executed_by else parity.status
    text = f"cosine ≥ {parity.minimum:.5f} ({parity.threshold:g})"
    text += f", top-1 {tokens}" if (tokens := top1(parity)) else ""
    return f"{text}, {parity.executed_by}" if "MIL" in parity.executed_by or _marks(parity) else text


def _from_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Callback of --config FILE.yaml: sets defaults for the other options, by their long names."""
    if path is None:
        return None
    import yaml

    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise click.BadParameter(
            f"{path}: not readable as YAML ({str(error).splitlines()[0][:100]})"
        ) from None
    names = {
        option.removeprefix("--"): p.name
        for p in context.command.params
        for option in p.opts
        if option.startswith("--")
    }
    if not isinstance(config, dict) or any(str(key) not in names for key in config):
        known = ", ".join(sorted(names))
        raise click.BadParameter(f"{path}: must be a mapping of options, with keys among: {known}")
    context.default_map = dict(context.default_map or {}) | {
        names[str(key)]: value for key, value in config.items()
    }
    return path


@click.command()
@click.argument("recipe", required=False)
@click.option(
    "-m",
    "--model",
    default=None,
    metavar="SOURCE",
    help="Weights of a one-model recipe: a directory, a .gguf file, a hub id, random[:seed].",
)
@click.option(
    "--weights",
    multiple=True,
    metavar="[PART=]SOURCE",
    help="The same for a part (image, text, dpe, llm, faces, ocr), or for all but dpe, faces and ocr; "
    "repeat for more. "
    "random:7 fills the true architecture with numbers.",
)
@click.option(
    "--targets",
    default=",".join(TARGETS),
    show_default=True,
    help="Comma-separated: onnx, executorch, coreml.",
)
@click.option(
    "--parts",
    default="",
    help="Comma-separated: image, text, dpe, llm, faces, ocr. The rest can be added later. "
    "[default: all but faces and ocr]",
)
@click.option(
    "--quant",
    type=click.Choice(("none", *QUANTS, CALIBRATED, *STATIC)),
    default="int8",
    show_default=True,
    help="none: fp32; gptq: int4, calibrated on text; a8w8, a16w8: activations of 8 or 16 bits with "
    "calibrated scales.",
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(("npu",)),
    default=None,
    is_eager=True,
    callback=_for,
    help="npu: --quant a8w8 --targets onnx,coreml where you give no others: calibrated activations.",
)
@click.option(
    "--dtype", hidden=True, expose_value=False, type=click.Choice(("fp32", "fp16")), callback=_old_dtype
)
@click.option(
    "--max-size",
    multiple=True,
    metavar="[ROLE=]SIZE",
    help="Choose each matrix's bits for the best parity in so many bytes: 300MB for all that one target "
    "needs, ROLE=90MB for a component; repeat for more.",
)
@click.option(
    "--group-size", type=int, default=32, show_default=True, help="Weights that share a scale in int4."
)
@click.option(
    "--keep",
    default="",
    metavar="NAMES=QUANT",
    help="Tensors that get another quantization, e.g. qkv,head=int8,text_tower/up=int4/64.",
)
@click.option(
    "--min-parity",
    "--threshold",
    "bars",
    multiple=True,
    metavar="[ROLE=]COSINE[/TOP1]",
    help="The least parity: of a component, instead of the one for its quantization; without ROLE, choose "
    "each matrix's bits to reach it in the fewest bytes; repeat for more.",
)
@click.option(
    "--max-seq-len",
    "max_seq",
    type=click.IntRange(0, 1 << 17),
    default=0,
    help="Cache slots of the decoder. [default: the recipe's]",
)
@click.option(
    "--image-input",
    type=click.Choice(("prepared", "any")),
    default="prepared",
    show_default=True,
    help="any: ONNX towers take uint8 RGB of any size and resize in their own graph.",
)
@click.option(
    "--coreml-cache",
    type=click.Choice(COREML_CACHES),
    default="tensors",
    show_default=True,
    help="state: the Core ML decoder keeps its cache, and has functions for prompts and adapters.",
)
@click.option(
    "--coreml-layout",
    type=click.Choice(COREML_LAYOUTS),
    default=COREML_LAYOUTS[0],
    show_default=True,
    help="ane: Core ML's CLIP and SigLIP towers have channels first, which the Neural Engine likes.",
)
@click.option(
    "--kv-cache",
    type=click.Choice(KV_CACHES),
    default=KV_CACHES[0],
    show_default=True,
    help="Keys and values of the decoder; fp16 (ONNX): half the memory; int8 (ONNX, ExecuTorch): a quarter.",
)
@click.option(
    "--adapter",
    "adapters",
    multiple=True,
    metavar="NAME=DIR",
    help="A LoRA adapter of the language model (PEFT's directory), kept apart: the decoder (ONNX, or Core ML "
    "with --coreml-cache state) is switched to it for an answer; repeat for more.",
)
@click.option(
    "--onnx-format",
    type=click.Choice(ONNX_FORMATS),
    default="onnx",
    show_default=True,
    help="ort: ONNX Runtime's own, for its mobile builds.",
)
@click.option(
    "--layout",
    type=click.Choice(tuple(LAYOUTS)),
    multiple=True,
    help="Also write the language model as ONNX Runtime GenAI opens it, into DIR/genai, or ExecuTorch's LLM "
    "runner, into DIR/runner; repeat for both.",
)
@click.option(
    "--opset", type=int, default=20, show_default=True, help="ONNX's operator set; 20 is the least."
)
@click.option(
    "--deployment-target",
    type=click.Choice(DEPLOYMENT_TARGETS),
    default="iOS18",
    show_default=True,
    help="The oldest system for Core ML.",
)
@click.option(
    "--calibrate",
    default="",
    metavar="FOLDER",
    help="Photographs that calibrate int8 convolutions. [default: those that packages carry]",
)
@click.option(
    "--executorch-backend",
    type=click.Choice(EXECUTORCH_BACKENDS),
    default="xnnpack",
    show_default=True,
    help="What ExecuTorch lowers to.",
)
@click.option(
    "--languages",
    default="",
    metavar="CODES",
    help="Languages whose queries are read by glosses: de,fr,es,ru, or installed: all with a dictionary.",
)
@click.option(
    "--dictionary",
    "dictionary_files",
    multiple=True,
    metavar="LANGUAGE=FILE",
    help="A dictionary (.index of dictd, .ifo of StarDict, .tsv) instead of installed ones; repeat for more.",
)
@click.option(
    "--trust-pickle",
    is_flag=True,
    help="Open pickled checkpoints, which can run code: only for files that you trust.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    callback=_from_file,
    is_eager=True,
    default=None,
    help="YAML file of these options.",
)
@click.option(
    "-o",
    "--output-dir",
    type=click.Path(path_type=Path),
    required=True,
    help="Directory of the bundle; written aside, then renamed.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 16),
    default=JOBS,
    show_default=True,
    help="Worker processes. 1: least memory.",
)
@click.option(
    "--device-profile",
    default=None,
    metavar="NAME",
    help="A phone (export/planning/devices.json): say what it runs and what fits its memory.",
)
@click.option(
    "--dry-run", is_flag=True, help="Say what would be written, how large, in how much memory; write nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def export(
    recipe: str | None,
    model: str | None,
    weights: tuple[str, ...],
    targets: str,
    parts: str,
    quant: str,
    purpose: str | None,
    max_size: tuple[str, ...],
    group_size: int,
    keep: str,
    bars: tuple[str, ...],
    max_seq: int,
    image_input: str,
    coreml_cache: str,
    coreml_layout: str,
    kv_cache: str,
    adapters: tuple[str, ...],
    onnx_format: str,
    layout: tuple[str, ...],
    opset: int,
    deployment_target: str,
    calibrate: str,
    executorch_backend: str,
    languages: str,
    dictionary_files: tuple[str, ...],
    trust_pickle: bool,
    config: Path | None,
    output_dir: Path,
    jobs: int,
    device_profile: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Export RECIPE (e.g. pocket, clip-vit-l14, gamer-qwen2-1.5b) as a bundle: every component, every
    target, each compared with torch on the same inputs. Without RECIPE, `-m` says by its config.json what
    it is: CLIP or SigLIP towers, or a language model.

    A comparison below its threshold fails the command with the figure. An interrupted export continues
    where it stopped; a bundle that holds all of it is left as it is, one that lacks parts or targets gets
    them added.

    \b
    gamer export pocket -o out/pocket
    gamer export -m ./my-clip --quant int4 --targets onnx,coreml -o out/clip
    gamer export pocket --max-size 160MB --targets onnx -o out/small
    gamer export gamer-qwen2-1.5b --weights random:0 --quant int4 --dry-run -o out/full
    """
    from .bundle import write

    if recipe is not None and recipe not in RECIPES:
        raise click.BadParameter(
            f"{recipe!r} must be one of the recipes: {', '.join(RECIPES)}", param_hint="RECIPE"
        )
    if purpose is not None and quant not in STATIC:
        raise click.BadParameter(f"{quant!r} is not for NPUs: {' or '.join(STATIC)}", param_hint="--quant")
    try:
        chosen_targets = write.parse_targets(targets)
    except ExportError as error:
        raise click.BadParameter(str(error), param_hint="--targets") from None
    on_interrupt = "interrupted; finished parts are kept, run the same command to go on"
    with one_line("export", extra="export", interrupted=on_interrupt):
        name = _recipe(recipe, model, trust_pickle)
        dictionaries = parse_dictionaries(dictionary_files)
        total, sizes = parse_sizes(max_size)
        limits = Limits(total, sizes, parse_common(bars))
        settings = Settings(
            recipe=name,
            quant=click.get_current_context().meta.get(_DTYPE, "fp32") if quant == "none" else quant,
            sources=parse_sources(name, model, weights),
            keep=parse_keep(keep),
            group_size=group_size,
            max_seq=max_seq,
            image_input=image_input,
            trust_pickle=trust_pickle,
            coreml_cache=coreml_cache,
            coreml_layout=coreml_layout,
            kv_cache=kv_cache,
            adapters=parse_adapters(adapters),
            onnx_format=onnx_format,
            opset=opset,
            deployment_target=deployment_target,
            calibrate=calibrate,
            executorch_backend=executorch_backend,
            parts=parse_parts(parts),
            bars=parse_bars(tuple(bar for bar in bars if "=" in bar)),
            languages=parse_languages(languages, dictionaries),
            dictionaries=dictionaries,
            layout=tuple(dict.fromkeys(layout)),
        )
        if languages.strip() == "installed":
            ERR.print(found(settings.languages), highlight=False, soft_wrap=True)
        phone = None if device_profile is None else devices.choose(devices.load(), [device_profile])[0]
        budgets: tuple[mf.Budget, ...] = ()
        if limits.given:
            by_default = click.get_current_context().get_parameter_source("quant") is ParameterSource.DEFAULT
            if not by_default and quant != CALIBRATED:
                named = f"--quant {quant}" if purpose is None else f"--for {purpose}"
                raise ExportError(f"{named}: --max-size and --min-parity choose the bits: leave it out")
            settings, budgets = _choose_bits(settings, chosen_targets, limits, jobs, phone)
        if dry_run:
            _print_plan(settings, chosen_targets, phone, as_json)
            return
        manifest = export_with_bar(settings, chosen_targets, output_dir, jobs, budgets, limits)
    print_manifest(manifest, output_dir, as_json)
    if phone is not None:
        _print_fits(
            phone,
            phone_memory.fits(phone, manifest.artifacts, manifest.language, settings.cache_of),
            ERR if as_json else Screen(),
        )


def export_with_bar(
    settings: Settings,
    targets: tuple[str, ...],
    out: Path,
    jobs: int,
    budgets: tuple[mf.Budget, ...] = (),
    limits: Limits = UNLIMITED,
) -> mf.Manifest:
    """write.export with a progress bar, and a line for each finished artifact, on stderr."""
    from .bundle import write

    with bar() as progress:
        task = progress.add_task("reading the checkpoints", total=None)
        # One more: the clock of a bar that is full stands still, and the bundle's other files take minutes.
        progress.update(task, total=len(write.tasks(settings, targets, "")) + 1)

        def report(text: str, artifact: mf.Artifact | None) -> None:
            if text.startswith(write.NOTE):
                progress.console.print(text, highlight=False, soft_wrap=True)
                return
            progress.update(task, advance=1 if artifact else 0, description=text)
            if artifact is None and not progress.console.is_terminal:
                progress.console.print(f"  {text}", highlight=False, soft_wrap=True)
            if artifact:
                progress.console.print(
                    f"  {text}: {artifact.bytes / 1e6:.1f} MB, {parity_text(artifact.parity)}, "
                    f"{artifact.export_seconds:.0f} s",
                    highlight=False,
                    soft_wrap=True,
                )

        return write.export(settings, targets, out, jobs, report, budgets, limits)


def _choose_bits(
    settings: Settings,
    targets: tuple[str, ...],
    limits: Limits,
    jobs: int,
    phone: devices.Profile | None,
) -> tuple[Settings, tuple[mf.Budget, ...]]:
    """Searches for the bits within the limits, and prints what they were chosen from, and the choice."""
    from .budget import keeping
    from .budget.choose import choose

    with bar() as progress:
        task = progress.add_task("bits of each matrix", total=None)

        def tell(text: str) -> None:
            progress.update(task, description=text)
            if not progress.console.is_terminal:
                progress.console.print(f"  {text}", highlight=False, soft_wrap=True)

        settings, budgets = choose(settings, targets, limits, jobs, tell)
    for budget in budgets:
        ERR.print(curve(budget, phone))
    calibrated = f"--quant {CALIBRATED} " if settings.quant == CALIBRATED else ""
    again = f"the same bits again: {calibrated}--keep {keeping.text(settings.keep)}"
    ERR.print(again, highlight=False, soft_wrap=True)
    return settings, budgets


def curve(budget: mf.Budget, phone: devices.Profile | None) -> Table:
    """The Pareto curve of a component, its choice and uniform bits, by bytes.

    Of a decoder for `phone`, also the least milliseconds of a token, which reads all weights once.
    """
    timed = phone if budget.role == "llm_decoder" else None
    columns = ["quantization", "MB", "loss", *(["ms/token ≥"] if timed else [])]
    out = _narrow(f"{budget.role} for {budget.target}: bits by matrix", *columns)
    points = sorted((*budget.curve[::4], *budget.uniform, budget.chosen), key=lambda p: (p.bytes, -p.loss))
    for p in points:
        name = "chosen, simulated" if p is budget.chosen else p.quant or "by matrix"
        least = [f"{p.bytes / timed.bandwidth_gbs / 1e6:.2f}"] if timed else []
        out.add_row(name, f"{p.bytes / 1e6:.1f}", f"{p.loss:.2g}", *least)
    if timed:
        out.caption = f"≥: predicted, all weights at the {timed.bandwidth_gbs:g} GB/s of a {timed.name}"
    return out


def _recipe(recipe: str | None, model: str | None, trust_pickle: bool) -> str:
    if recipe is not None:
        return recipe
    from .checkpoints.checkpoint import open_checkpoint

    if model is None:
        raise ExportError(f"say what to export: a recipe ({', '.join(RECIPES)}), or -m with a checkpoint")
    return recipe_for(open_checkpoint(None, model, trust_pickle=trust_pickle).config)


def _print_plan(
    settings: Settings, targets: tuple[str, ...], phone: devices.Profile | None, as_json: bool
) -> None:
    """Prints the prediction of a dry run, then raises ExportError if `phone` cannot run a component."""
    from .bundle import extras
    from .components import components
    from .planning import plan

    planned = plan.predict(settings, targets, extras.predict(settings, targets))
    copied = [LAYOUTS[name] for name in settings.layout]
    again = sum(
        a.bytes for a in planned.artifacts if a.target in copied and a.role in ("llm_embed", "llm_decoder")
    )
    planned = replace(planned, others=planned.others + again)
    fits = (
        ()
        if phone is None
        else phone_memory.fits(phone, planned.artifacts, components.language(settings), settings.cache_of)
    )
    if as_json:
        click.echo(json_line(asdict(planned) | ({"fits": [asdict(f) for f in fits]} if fits else {})))
    else:
        _print_artifacts(settings, planned)
    if phone is not None and not as_json:
        _print_fits(phone, fits, Screen())
    if phone is not None and (unable := phone_memory.roles_that_do_not_fit(fits)):
        raise ExportError(
            f"{phone.name} cannot run {', '.join(unable)}: choose fewer bits, a smaller --max-seq-len, or a "
            "target that it has"
        )


def _print_fits(phone: devices.Profile, rows: tuple[phone_memory.Fit, ...], console: Console) -> None:
    out = Table(
        title=f"{phone.name}: {phone.app_memory_gb:g} "
        f"GB for one app; {phone.os} runs {', '.join(phone_memory.RUNS.get(phone.os, ()))}"
    )
    for name in ("component", "target", "MB in memory", "fits"):
        out.add_column(name, justify="right" if name == "MB in memory" else "left")
    for row in rows:
        out.add_row(
            row.role,
            row.target,
            f"{row.bytes / 1e6:,.0f}",
            ("yes" if row.fits else "no") if row.runs else f"not on {phone.os}",
        )
    console.print(out)


def _print_artifacts(settings: Settings, plan: ExportPlan) -> None:
    title = f"{settings.recipe}, {settings.quant}: would be written"
    out = _narrow(title, "component", "target", "quantization", "parameters", "MB", "peak GB")
    for row in plan.artifacts:
        out.add_row(
            row.role,
            row.target,
            row.quant,
            f"{row.parameters:,}",
            f"{row.bytes / 1e6:,.1f}",
            f"{row.peak / 1e9:.1f}",
        )
    Screen().print(out)
    click.echo(
        f"{len(plan.artifacts)} artifacts and {plan.others / 1e6:,.0f} MB of tokenizers, fixtures and prompt "
        f"caches: about {plan.bytes / 1e6:,.0f} MB; peak of one worker about "
        f"{plan.peak / 1e9:.1f} GB"
    )
    for note in plan.notes:
        click.echo(plain(f"note: {note}"))


def _role(context: click.Context, parameter: click.Parameter, role: str | None) -> str | None:
    """Refuses what is no component: most likely BUNDLE, which --layers takes for its ROLE."""
    if role is not None and role not in ("all", *ROLES):
        raise click.BadParameter(f"{role!r} is not a component: write BUNDLE first, or a role of it")
    return role


@click.command()
@click.argument("bundle_dir", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--hashes-only", is_flag=True, help="Check files only, run nothing.")
@click.option(
    "--weights",
    multiple=True,
    metavar="[PART=]SOURCE",
    help="Where the weights lie that came from this machine's own files.",
)
@click.option(
    "--layers",
    "role",
    is_flag=False,
    flag_value="all",
    callback=_role,
    metavar="[ROLE]",
    help="Compare each layer of ROLE, or of all, with torch's: where parity is lost (ONNX, Core ML).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest with the parity measured now.")
def verify(
    bundle_dir: Path, hashes_only: bool, weights: tuple[str, ...], role: str | None, as_json: bool
) -> None:
    """Check every hash and size of BUNDLE, then run every artifact that this platform can execute against
    torch again and hold it to its threshold."""
    if role is not None and hashes_only:
        raise click.UsageError("--hashes-only runs nothing, --layers does: leave one out")
    compared: tuple[Layers, ...] = ()
    with one_line("verify", extra="export"):
        manifest = mf.read(bundle_dir)
        mf.check(bundle_dir, manifest)
        if not hashes_only:
            from .parity import verify as proof

            with bar() as progress:
                task = progress.add_task("loading weights", total=len(manifest.artifacts))
                sources = parse_sources(manifest.recipe, None, weights)

                def report(text: str) -> None:
                    progress.update(task, advance=1, description=text)

                if role is not None:
                    compared = proof.layers_of(bundle_dir, manifest, report, sources, role)
                else:
                    manifest = proof.verify(bundle_dir, manifest, report, sources)
    if role is None:
        print_manifest(manifest, bundle_dir, as_json)
    else:
        print_layers(compared, as_json)


def print_layers(compared: tuple[Layers, ...], as_json: bool) -> None:
    """A table for each artifact; in JSON, also the first layer below the threshold, and what loses most."""
    if as_json:
        rows = [
            {
                **asdict(c),
                "rows": [_finite(asdict(row)) for row in c.rows],
                "first": c.first and c.first.name,
                "most": c.most and c.most.name,
            }
            for c in compared
        ]
        click.echo(json_line({"layers": rows}))
        return
    for one in compared:
        out = _narrow(
            f"{one.role} for {one.target} ({one.quant})", "layer", "operator", "cosine", "lost", "error"
        )
        for row in one.rows:
            lost = f"{row.lost:.5f}" if row.lost else ""
            out.add_row(row.name, row.operator, f"{row.cosine:.5f}", lost, f"{row.error:.3g}")
        out.caption = one.summary
        Screen().print(out)


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN and no infinity: null."""
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in row.items()
    }


def print_manifest(manifest: mf.Manifest, folder: Path, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(asdict(manifest)))
        return
    Screen().print(table(manifest))
    size = sum(a.bytes for a in manifest.artifacts) / 1e6
    click.echo(
        plain(f"{folder}: {len(manifest.artifacts)} artifacts, {size:.1f} MB, δ {manifest.thresholds.delta}")
    )
