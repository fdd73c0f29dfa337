"""What `gamer bench device --device … --set …` means: the profiles, and the phone on the cable, measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamer.export.planning import devices
from gamer.export.planning.devices import Profile
from gamer.runtime.errors import RuntimeFailure

from ..latency import imported
from ..latency.measure import bundle_sha256
from ..study import settings as reading
from . import adb, connected, devicectl
from .connected import CONNECTED, Settings, Tell
from .measured import Measured, matched

APPS = {adb.Android: "gamer-debug.apk", devicectl.IPhone: "Gamer.app"}


@dataclass(frozen=True)
class Selected:
    """`known`: all profiles; `profiles`: those that are meant. `digests`: SHA-256 of a manifest → its bundle.

    `measured`, `raw`: of the phone on the cable; `raw` is the app's JSON.
    """

    known: tuple[Profile, ...]
    profiles: tuple[Profile, ...]
    digests: dict[str, str]
    measured: tuple[Measured, ...]
    raw: tuple[Any, ...]


def select(names: Sequence[str], given: Sequence[str], bundles: Sequence[Path], tell: Tell) -> Selected:
    """`names`: of profiles, files of profiles, "connected". `given`: its settings, KEY=VALUE.

    Raises RuntimeFailure for a name that is none, and for what the phone refuses; SettingError for a setting.
    """
    if given and CONNECTED not in names:
        raise RuntimeFailure(f"--set is of a phone on a cable: give --device {CONNECTED}, too")
    settings: Settings = reading.read(Settings, given)
    own = tuple(p for name in names if name.endswith(".json") for p in devices.load(Path(name)))
    known = (*own, *devices.load())
    wanted = [name for name in names if name != CONNECTED and not name.endswith(".json")]
    chosen = (*own, *(devices.choose(known, wanted) if wanted else ()))
    digests = {bundle_sha256(bundle): bundle.name for bundle in bundles}
    if CONNECTED not in names:
        return Selected(known, chosen or known, digests, (), ())
    raw = measure(settings, bundles[0], known, tell)
    run = imported.checked(raw, "the phone's measurement")
    (measured,) = matched([run], known, digests)
    return Selected(known, (*chosen, measured.profile), digests, (measured,), (raw,))


def measure(settings: Settings, bundle: Path, known: Sequence[Profile], tell: Tell) -> Any:
    """The JSON that the connected phone's app wrote. Raises RuntimeFailure."""
    tell("looking for the phone")
    phone = connected.find((adb.phones, devicectl.phones), settings.serial)
    connected.profile(phone, known)
    app = settings.app or connected.default_app(APPS[type(phone)])
    job = connected.job(bundle, settings, app)
    return phone.measure(job, tell)
