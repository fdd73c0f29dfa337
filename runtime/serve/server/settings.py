"""The server's settings: the address it listens on, the token, the limits."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field

from ...errors import RuntimeFailure

MIN_TOKEN = 16
MAX_BODY = 1 << 20  # bytes; the longest query fits even when escaped
MAX_QUERY_STRING = 2048
LOOPBACK_NAMES = frozenset({"localhost"})


@dataclass(frozen=True)
class Rate:
    """A token bucket for each client: holds `burst`, refilled by `per_second`.

    A search by words or by a photo costs `search`, a question in several steps or to the language model
    `ask`, any other request 1. `clients`: the number of clients remembered.
    """

    burst: float = 400.0
    per_second: float = 100.0
    search: float = 10.0
    ask: float = 50.0
    clients: int = 1024


@dataclass(frozen=True)
class ServerSettings:
    """Checked on construction.

    Raises RuntimeFailure for an address beyond loopback without a token, or for a token too easy to guess.
    """

    host: str = "127.0.0.1"
    token: str | None = None
    rate: Rate = field(default_factory=Rate)

    def __post_init__(self) -> None:
        if self.token is None and not self.loopback:
            raise RuntimeFailure(
                f"{self.host} is reached from other machines: give --token (or GAMER_TOKEN), or stay on "
                "--host 127.0.0.1"
            )
        if self.token is not None and (
            len(self.token) < MIN_TOKEN
            or not self.token.isascii()
            or not self.token.isprintable()
            or " " in self.token
        ):
            raise RuntimeFailure(f"the token must be {MIN_TOKEN} or more ASCII characters without spaces")

    @property
    def loopback(self) -> bool:
        address = literal(self.host)
        return self.host in LOOPBACK_NAMES if address is None else address.is_loopback

    def allows_host(self, name: str) -> bool:
        """Whether a Host header may name this server.

        A DNS rebinding attack uses a domain name, so literal addresses are safe to allow beyond loopback.
        """
        name = name.lower()
        address = literal(name)
        if name in LOOPBACK_NAMES or (address is not None and address.is_loopback):
            return True
        return not self.loopback and (address is not None or name == self.host.lower())


def literal(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that `name` spells out, with or without a URL's brackets; None for a host name."""
    try:
        return ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def bind(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises RuntimeFailure, one line, if the port is taken or the address is not this machine's.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise RuntimeFailure(f"--host {host}: no such address") from None
    listening = socket.socket(family, kind, proto)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise RuntimeFailure(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port (0: any "
            "that is free)"
        ) from None
    return listening


def url(host: str, port: int) -> str:
    """The address to open in a browser on this machine."""
    address = literal(host)
    shown = "127.0.0.1" if address is not None and address.is_unspecified else str(address or host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
