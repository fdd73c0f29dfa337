"""Clips made of photographs: whether a sentence finds the second that shows it, and what a clip costs.

Also whether the mean of the frames' vectors, as EgoMemory takes it of CLIP (section 4), finds more than the
best frame.

The photographs are scikit-image's. A photograph is one scene, over which the camera moves.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gamer.index import FloatArray
from gamer.index.ingest.clips import clip_decoder, clip_frames
from gamer.runtime.errors import RuntimeFailure

from .study.declaration import NoSettings, Run, Work
from .tables import Sheet

# Photograph → a sentence that means it.
SCENES = {
    "chelsea": "a cat",
    "coffee": "a cup of coffee",
    "rocket": "the launch of a rocket",
    "astronaut": "an astronaut",
    "camera": "a man with a camera",
    "horse": "a horse",
    "brick": "a brick wall",
    "grass": "grass",
    "coins": "coins",
    "moon": "the moon",
    "page": "a page of text",
    "clock": "a clock",
}
EACH, SECONDS, RATE, SIZE = (
    3,
    4,
    25,
    (640, 480),
)  # scenes of a clip; a scene's length; frames a second; pixels
DIVISIONS = 200  # random divisions of the photographs into clips
SEED = 0
Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class ClipsMeasured:
    """`right`: of how many `scenes` the second lies in the scene, the clip being given.

    `cut_ms`, `frames_ms`, `encode_ms`: processor time, medians for a clip of `seconds`: to look for cuts, to
    decode its `frames`, to encode them. `first`: by what ranks the clips, the share of sentences whose clip
    comes first, over random divisions of the photographs into clips.
    """

    clips: int
    seconds: int
    frames: int
    scenes: int
    right: int
    cut_ms: float
    frames_ms: float
    encode_ms: float
    first: dict[str, float]


def measure(run: Run[NoSettings]) -> ClipsMeasured:
    """Raises RuntimeFailure without PyAV."""
    models = run.models
    names = list(SCENES)
    pictures = {name: _photograph(name) for name in names}
    queries = dict(zip(names, models.text.encode([SCENES[name] for name in names]), strict=True))
    groups = [names[at : at + EACH] for at in range(0, len(names), EACH)]
    right, count, costs = 0, 0, list[tuple[float, float, float]]()
    with tempfile.TemporaryDirectory() as folder:
        for n, group in enumerate(groups):
            run.tell(f"clip {n + 1} of {len(groups)}")
            path = Path(folder) / f"{n}.mp4"
            make(path, [pictures[name] for name in group])
            begin = _spent()
            clip_frames.parts(path)
            cut = _spent()
            found = clip_frames.frames(path)
            decoded = _spent()
            vectors = np.stack([models.encode_image(pixels).embedding for pixels in found.pixels])
            costs.append((cut - begin, decoded - cut, _spent() - decoded))
            count = len(found.times)
            for at, name in enumerate(group):
                second = found.times[int(np.argmax(vectors @ queries[name]))] / 1000
                right += at * SECONDS <= second < (at + 1) * SECONDS
    cut_ms, frames_ms, encode_ms = (round(1000 * float(value), 1) for value in np.median(costs, axis=0))
    still = {name: models.encode_image(picture).embedding for name, picture in pictures.items()}
    return ClipsMeasured(
        clips=len(groups),
        seconds=EACH * SECONDS,
        frames=count,
        scenes=len(names),
        right=right,
        cut_ms=cut_ms,
        frames_ms=frames_ms,
        encode_ms=encode_ms,
        first=ranked(still, queries),
    )


def ranked(scenes: dict[str, FloatArray], queries: dict[str, FloatArray]) -> dict[str, float]:
    """By way to rank, the share of queries whose clip comes first. Each scene counts as one frame."""
    dice, hits = np.random.default_rng(SEED), dict.fromkeys(("frames", "frames and mean", "mean"), 0)
    for _ in range(DIVISIONS):
        order = dice.permutation(list(scenes))
        groups = [order[at : at + EACH] for at in range(0, len(order), EACH)]
        frames = [np.stack([scenes[name] for name in group]) for group in groups]
        means = [vectors.mean(0) / np.linalg.norm(vectors.mean(0)) for vectors in frames]
        for at, group in enumerate(groups):
            for name in group:
                best = np.array([(vectors @ queries[name]).max() for vectors in frames])
                mean = np.array([vector @ queries[name] for vector in means])
                scores = {"frames": best, "frames and mean": np.maximum(best, mean), "mean": mean}
                for way, values in scores.items():
                    hits[way] += int(values.argmax()) == at
    return {way: round(count / (DIVISIONS * len(scenes)), 3) for way, count in hits.items()}


def make(path: Path, scenes: Sequence[Picture]) -> None:
    """Writes a clip in H.264 of scenes, over each of which the camera moves by a tenth of its width."""
    try:
        import av
    except ImportError:
        raise RuntimeFailure(clip_frames.wanted()) from None
    clip_decoder.quiet()
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for scene in scenes:
            for n in range(SECONDS * RATE):
                left = n * (scene.shape[1] - SIZE[0]) // (SECONDS * RATE)
                frame = av.VideoFrame.from_ndarray(
                    np.ascontiguousarray(scene[:, left : left + SIZE[0]]), format="rgb24"
                )
                for packet in stream.encode(frame):
                    container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def _spent() -> float:
    """Seconds of processor time of this process and of the decoders that it started and that have ended."""
    return sum(os.times()[:4])


def _photograph(name: str) -> Picture:
    """uint8 [H, W, 3], as high as a frame and a tenth wider."""
    import skimage.data
    from PIL import Image

    pixels = np.asarray(getattr(skimage.data, name)())
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    picture = Image.fromarray(pixels).convert("RGB").resize((SIZE[0] * 11 // 10, SIZE[1]))
    return np.asarray(picture, np.uint8)


def tables(result: ClipsMeasured) -> list[Sheet | str]:
    return [
        f"the right second of {result.right} of {result.scenes} scenes in {result.clips} clips of "
        f"{result.seconds} s; a clip takes {result.cut_ms} ms of a processor to look for cuts, "
        f"{result.frames_ms} ms to decode {result.frames} frames, {result.encode_ms} ms to encode them",
        "its clip first: " + ", ".join(f"by {way} {share:.1%}" for way, share in result.first.items()),
    ]


WORK = Work(NoSettings, measure, tables)
