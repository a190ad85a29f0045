"""Read-only views of a fake browser: its true state, and the outcome of what its clients sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from cdp_core.testing.fake.command_log import (
    DeliveryLog,
    FakeStatistics,
    LoggedCommand,
    ReceivedCommand,
    logged_command,
)
from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.truth import Truth, truth_of
from cdp_core.testing.fake.world import World
from cdp_core.testing.faults import FaultReport, LinkFaults


class Link(Protocol):
    """One client's connection, as far as `Inspection` reads it."""

    faults: LinkFaults
    delivery_log: DeliveryLog

    @property
    def connected(self) -> bool:
        """Whether the connection is open."""
        ...


class Inspection:
    """The methods of a fake browser that read its state and change nothing."""

    _world: World
    _player: Player
    _commands: list[ReceivedCommand]
    _delivered: int
    _refused: int
    _malformed: int

    def _link(self, client: int) -> Link | None:
        raise NotImplementedError

    @property
    def commands(self) -> tuple[ReceivedCommand, ...]:
        """Every readable command, in the order of arrival."""
        return tuple(self._commands)

    def command_log(self, client: int | None = None) -> tuple[LoggedCommand, ...]:
        """Return each command with its outcome, of one client or of all."""
        clients = self._world.clients
        return tuple(
            logged_command(each, clients[each.client - 1]) for each in self._commands if client in (None, each.client)
        )

    def delivered(self, client: int) -> DeliveryLog:
        """Return what was delivered to the client with this number."""
        link = self._link(client)
        return DeliveryLog() if link is None else link.delivery_log

    def matched_faults(self, client: int) -> FaultReport:
        link = self._link(client)
        return FaultReport() if link is None else link.faults.report()

    def ended_sessions(self, client: int) -> Mapping[str, str]:
        """Return a client's ended sessions, each with the session that the detach event named.

        That is the session itself, or one above it.
        """
        return {} if self._link(client) is None else dict(self._world.clients[client - 1].ended)

    def truth(self) -> Truth:
        """Return the true state of the browser."""
        return truth_of(self._world, self._player)

    def is_connected(self, client: int) -> bool:
        """Return whether the client with this number is still connected."""
        link = self._link(client)
        return link is not None and link.connected

    def paused(self, client: int | None = None) -> tuple[tuple[str, str], ...]:
        """Return id and type of each target that waits for `runIfWaitingForDebugger`.

        With `client`, only the targets that wait for that client.
        """
        return tuple(
            (target.id, target.type)
            for target in self._world.targets.values()
            if not target.crashed
            and any(client in (None, each.client.number) for each in target.held if not each.lets_run)
        )

    def held_by(self, client: int) -> tuple[tuple[str, str, str], ...]:
        """Return id, type and waiting session of each target that waits for that client to resume it."""
        alive = [target for target in self._world.targets.values() if not target.crashed]
        held = [(target, each) for target in alive for each in target.held if not each.lets_run]
        return tuple(
            sorted((target.id, target.type, str(each.id)) for target, each in held if each.client.number == client)
        )

    def left_enabled(self, client: int) -> tuple[tuple[str | None, str], ...]:
        """Return what a client's sessions still have enabled that affects pages, each with its session.

        These are `Fetch`, and `scripts` for init scripts.
        """
        sessions_of = () if self._link(client) is None else self._world.clients[client - 1].sessions.values()
        found = [(each.id, "Fetch") for each in sessions_of if each.interceptor is not None]
        return (*found, *((each.id, "scripts") for each in sessions_of if each.scripts))

    def statistics(self) -> FakeStatistics:
        """Return the counts so far."""
        clients = self._world.clients
        return FakeStatistics(
            received=len(self._commands) + self._malformed,
            delivered=self._delivered,
            waiting=sum(len(client.streams) for client in clients),
            refused=self._refused,
            malformed=self._malformed,
            never_answered=sum(len(each.in_flight) for client in clients for each in client.sessions.values()),
            unmodelled=dict(self._world.unmodelled),
        )

    def unfinished(self) -> list[str]:
        """Describe what pages wait for, and how many messages were malformed."""
        left: list[str] = []
        for target in self._world.targets.values():
            waits_for = [session for session in target.held if not session.lets_run]
            left += [f"{target.type} {target.id[:8]} waits for {session.name}" for session in waits_for]
            left += [f"a {dialog.type} is open on page {target.id[:8]}" for dialog in target.dialogs]
        return [*left, *([f"{self._malformed} messages were malformed"] if self._malformed else [])]
