"""A fake browser without an event loop: bytes in, bytes out, and time given by the caller.

    fake = FakeBrowser()
    end = fake.connect()
    end.receive(b'{"id":1,"method":"Browser.getVersion"}')
    [answer] = end.drain()

Several clients may connect. Messages for them wait in streams: `fake.ready()` returns the messages that may be
delivered next, `fake.deliver(one)` delivers one of them and returns its end and its payload, and `end.drain()`
delivers the messages of one client, oldest first. `fake.play(step, …)` runs page steps, `fake.advance(to)` advances
the virtual time, `fake.truth()` returns the true state, whatever the clients were sent, and `fake.command_log()`
returns each command with its outcome.

`faults` are values that describe what goes wrong on purpose (`faults.py`). Of `schedule` the fake reads only the
edges, the order in which messages may cross; the rest is for the driver of the run (`simulation.py`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, overload

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing import faults as kinds
from cdp_core.testing.fake import commands as table
from cdp_core.testing.fake.client_end import ClientEnd, ReadyMessage
from cdp_core.testing.fake.command_log import ReceivedCommand
from cdp_core.testing.fake.delivery_order import Delivery, Edges, Streams
from cdp_core.testing.fake.inspection import Inspection
from cdp_core.testing.fake.model import dialogs, fetching, sessions, targets
from cdp_core.testing.fake.model.dispatch_errors import (
    MAX_MESSAGE_BYTES,
    Refused,
    Request,
    Unreadable,
    read_request,
    refuse,
)
from cdp_core.testing.fake.model.parts import Client, Session
from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.world import PROFILES, Profile, World, addressed, order_keys, packed
from cdp_core.testing.judge import behaviour
from cdp_core.testing.schedules import Schedule, checked_edges, checked_schedule
from cdp_core.testing.steps import MAIN, Script, Step, checked_script, checked_steps

if TYPE_CHECKING:
    from cdp_core.transports import Transport

_NO_CAUSE: Final = sys.maxsize
"""The `since` of a refusal: no message has a number above it, so a refusal waits for none."""
SESSION_NOT_FOUND: Final[Json] = {"code": -32001, "message": "Session with given id not found."}


class FakeBrowser(Inspection):
    """A model of Chromium without an event loop.

    `script` is what its pages do, `profile` the kind of browser, `faults` what goes wrong on purpose. The edges of
    `schedule` are the delivery order of clients that choose none. Equal seeds give equal ids. Raises InvalidArgument
    for an invalid argument.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        profile: Profile = "headless-new",
        schedule: Schedule | None = None,
        faults: Iterable[kinds.Fault] = (),
        seed: int = 0,
    ) -> None:
        if profile not in PROFILES:
            raise InvalidArgument(f"profile must be one of {', '.join(PROFILES)}, not {profile!r}.")
        if type(seed) is not int:
            raise InvalidArgument(f"seed must be an integer, not {seed!r}.")
        self.script = Script() if script is None else checked_script(script)
        self.schedule = None if schedule is None else checked_schedule(schedule)
        self.faults = kinds.checked_faults(faults)
        self.seed = seed
        self._world = World(profile=profile, seed=seed)
        self._player = Player(self._world, self.script, self.cut)
        self._ends: dict[int, ClientEnd] = {}
        self._commands: list[ReceivedCommand] = []
        self._faulty: list[ClientEnd] = []
        self._delivered = self._refused = self._malformed = 0
        self._player.open_page(MAIN, "about:blank")
        self._player.play(self.script.timeline)
        self._world.run_soon()

    # ── clients ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def path(self) -> str:
        """The path of the browser's own WebSocket."""
        return f"/devtools/browser/{self._world.uuid}"

    def connect(self, path: str | None = None, *, edges: Edges | None = None) -> ClientEnd:
        """Connect a client to the browser, or to one page by the path of its WebSocket.

        `edges` sets the delivery order for this client; without it the schedule's order applies, or else the observed
        one. Raises InvalidArgument for an unknown path.
        """
        page = None
        if path not in (None, self.path):
            assert path is not None
            page = self._world.targets.get(path.removeprefix("/devtools/page/"))
            if page is None or not path.startswith("/devtools/page/"):
                raise InvalidArgument(
                    f"{path} is not a path of this browser; connect to {self.path} or to the path of a page."
                )
        own = (
            checked_edges(edges) if edges is not None else "observed" if self.schedule is None else self.schedule.edges
        )
        client = Client(len(self._world.clients) + 1, page=page, streams=Streams(own))
        client.sessions[None] = Session(client, None, page, None)
        self._world.clients.append(client)
        if page is not None:
            page.sessions.append(client.root)
        end = ClientEnd(self, client)
        self._ends[client.number] = end
        if end.faults.any:
            client.streams.copies = end.copies
            self._faulty.append(end)
        return end

    def cut(self) -> None:
        """Break every connection."""
        for end in tuple(self._ends.values()):
            end.lost()

    def transport(self, path: str | None = None) -> Transport:
        """Connect a client and return its connection as a trio transport (`FakeTransport`)."""
        # FakeTransport needs an event loop; the rest of the fake works without one.
        made: Callable[..., Transport] = import_module("cdp_core.testing.transport").FakeTransport
        return made(self, path)

    # ── delivery ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def ready(self) -> tuple[ReadyMessage, ...]:
        """Return the messages that may be delivered next, for all clients."""
        return tuple(ReadyMessage(end, delivery) for end in self._ends.values() for delivery in end.ready())

    @overload
    def deliver(self, due: ReadyMessage | Delivery, /) -> tuple[ClientEnd, bytes]: ...
    @overload
    def deliver(self, end: ClientEnd, delivery: Delivery, /) -> bytes: ...
    def deliver(self, *_what: Any) -> Any:
        """Deliver one message; return its end and its payload, or the payload alone if the end is given.

        Raises ValueError if the message may not be delivered yet or is no longer waiting, and InvalidArgument if it
        is not a message.
        """
        if len(_what) == 2:
            return self._deliver(*_what)
        [due] = _what
        if not isinstance(due, (ReadyMessage, Delivery)):
            raise InvalidArgument(f"{due!r} cannot be delivered; pass one of the messages that ready() returns.")
        end, delivery = due if isinstance(due, ReadyMessage) else (self._end_of(due), due)
        return end, self._deliver(end, delivery)

    def _end_of(self, delivery: Delivery) -> ClientEnd:
        waiting = (end for end in self._ends.values() if end._client.streams.waiting_one(delivery.number) is delivery)
        end = next(waiting, None)
        if end is None:
            raise ValueError(f"message {delivery.number} ({delivery.what}) is no longer waiting; take one of ready().")
        return end

    def _deliver(self, end: ClientEnd, delivery: Delivery) -> bytes:
        payload = end.taken(delivery)
        self._delivered += 1
        if self._faulty:
            if not end.faults.survives("out", "after", end.delivered):
                end.lost()
            self._apply_link_faults()
        return payload

    # ── pages and time ───────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def now(self) -> float:
        """The virtual time, in seconds from the start."""
        return self._world.now

    def play(self, *steps: Step | Script) -> None:
        """Run page steps now; of a whole script, add what it defines and start its timeline.

        Raises InvalidArgument for an invalid step.
        """
        made = checked_steps(
            [each for step in steps for each in (step.timeline if isinstance(step, Script) else (step,))]
        )
        self._world.catch_up()
        for script in [each for each in steps if isinstance(each, Script)]:
            self._player.add_script(script)
        self._player.play(made)
        self._world.run_soon()
        self._apply_link_faults()

    def advance(self, to: float) -> None:
        """Advance the virtual time to `to` seconds, and run everything that is due by then.

        Raises InvalidArgument if `to` is not a finite number or lies in the past.
        """
        if type(to) not in (int, float) or not self.now <= to < math.inf:
            raise InvalidArgument(
                f"Cannot advance to {to!r}: pass a finite time of at least {self.now} s, since time does not run backwards."
            )
        self._world.advance(to)
        self._apply_link_faults()

    def next_time(self) -> float | None:
        """Return when the next timer is due, in seconds of virtual time; None if no timer is set."""
        return self._world.next_time()

    # ── inspection ───────────────────────────────────────────────────────────────────────────────────────────────────

    def assert_clean(self) -> None:
        """Raise AssertionError with a list of what clients left behind or should not have sent.

        The list names paused targets, open dialogs, malformed messages, requests that clients hold, command ids used
        twice and commands to sessions that never existed; for clients that are still connected, also what they left
        enabled (`behaviour.py`).
        """
        left = [*self.unfinished(), *map(str, behaviour.unclean(self))]
        if left:
            raise AssertionError("left behind: " + "; ".join(sorted(left)))

    def _link(self, client: int) -> ClientEnd | None:
        return self._ends.get(client)

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _receive(self, client: Client, payload: bytes, knew: int | None = None) -> None:
        if not client.connected:
            return
        if len(payload) >= MAX_MESSAGE_BYTES:
            self._ends[client.number].lost()
            return
        try:
            request = read_request(payload)
        except Unreadable as malformed:
            self._malformed += 1
            reply: Json = {} if malformed.id is None else {"id": malformed.id}
            refusal = packed({**reply, "error": malformed.error})
            client.streams.add(None, "refusal", refusal, after=(("replies", None),))
            return
        end = self._ends[client.number]
        matched = end.faults.for_command(request.method) if end.faults.any else []
        delay = sum(fault.seconds for fault in matched if isinstance(fault, kinds.Delay))
        if delay:
            end.stall(delay, partial(self._execute, client, request, matched, knew))
        else:
            self._execute(client, request, matched, knew)

    def _receive_nested(self, session: Session, text: str) -> None:
        """Execute a command for a session that is not flat; it arrived as a parameter on the parent session."""
        streams, line = session.client.streams, ("replies", session.id)
        try:
            request = read_request(text)
        except Unreadable as malformed:
            self._malformed += 1
            reply: Json = {} if malformed.id is None else {"id": malformed.id}
            refusal = packed(addressed(session, {**reply, "error": malformed.error}))
            streams.add(session.id, "refusal", refusal, after=(line,))
            return
        if request.session is not None:
            unknown = packed(addressed(session, {"id": request.id, "error": SESSION_NOT_FOUND}))
            streams.add(session.id, f"reply to {request.method}", unknown, after=(line,))
            return
        inner = attrs.evolve(request, session=session.id)
        execute = partial(self._execute, session.client, inner, (), None, nested=True)
        known = table.COMMANDS.get(request.method)
        if known is None or known.by_renderer:
            self._world.soon(execute)  # the renderer replies after the command that carried this one
        else:
            execute()

    def _execute(
        self,
        client: Client,
        request: Request,
        matched: Iterable[kinds.Fault],
        knew: int | None,
        *,
        nested: bool = False,
    ) -> None:
        self._commands.append(
            ReceivedCommand(
                client=client.number,
                session_id=request.session,
                id=request.id,
                method=request.method,
                params=request.params if is_object(request.params) else {},
                at=self._world.now,
                knew=knew,
            )
        )
        session = client.sessions.get(request.session)
        if session is None or not (session.flat or nested):
            unknown = packed({"id": request.id, "error": SESSION_NOT_FOUND})
            client.outcomes[request.session, request.id] = SESSION_NOT_FOUND["code"]
            # The session has ended: its detach event must reach the client before this refusal.
            lines = (("replies", None), *order_keys(request.session))
            client.streams.add(None, f"reply to {request.method}", unknown, after=lines)
            return
        for fault in matched:
            if isinstance(fault, (kinds.Refuse, kinds.Drop)):
                self._ends[client.number].faults.note_skipped(fault, request.session, request.method)
            if isinstance(fault, kinds.Refuse):
                self._refused += 1
                refusal = Refused(fault.code, fault.message).error
                self._world.reply(session, request.id, request.method, {"error": refusal}, since=_NO_CAUSE)
                return
            if isinstance(fault, kinds.Drop):
                session.in_flight[request.id] = ""
                return
        self._dispatch(session, request)

    def _dispatch(self, session: Session, request: Request) -> None:
        first = session.in_flight.get(request.id)
        try:
            if first is not None:
                refuse("Duplicate `id` in protocol request")
            command = table.find(request.method, session)
            params = command.check(request.params)
        except Refused as refused:
            if request.method not in table.COMMANDS and refused.code == -32601:
                self._world.unmodelled[request.method] += 1
            self._refused += 1
            self._world.reply(session, request.id, request.method, {"error": refused.error}, since=_NO_CAUSE)
            if first is not None:  # the earlier command still gets its reply
                session.in_flight[request.id] = first
            if first:
                self._execute_duplicate(session, request)
            return
        self._start(session, request, command, params)

    def _execute_duplicate(self, session: Session, request: Request) -> None:
        """Execute a command whose id was refused because it is in flight (fact 54).

        The renderer receives the command all the same, and the first result becomes the reply. The session keeps the
        earlier command and sends it once more to the renderer of a later document.
        """
        same = [
            each
            for each in self._commands[:-1]
            if (each.client, each.session_id, each.id) == (session.client.number, session.id, request.id)
        ]
        before = same[-1]
        again = Request(id=before.id, method=before.method, params=dict(before.params), session=session.id)
        session.replayed_commands.setdefault(request.id, []).append(partial(self._execute_again, session, again))
        try:
            command = table.find(request.method, session)
            params = command.check(request.params)
        except Refused:
            return
        self._start(session, request, command, params)

    def _execute_again(self, session: Session, request: Request) -> bool:
        """Send the command again; return False if its id is in flight or its session has ended."""
        if request.id in session.in_flight or not session.open:
            return False
        self._dispatch(session, request)
        return True

    def _start(self, session: Session, request: Request, command: table.Modelled, params: Json) -> None:
        waits = command.by_renderer or request.method in table.ANSWERED_BY_RENDERER
        session.in_flight[request.id] = request.method if waits else ""
        run = partial(self._run, session, request, command, params)
        target = session.target
        if command.parks and target is not None and target.is_navigating:
            session.in_flight[request.id] = ""  # the renderer does not have it yet, so nothing breaks it off
            dialogs.when_unblocked(target, run)
        elif command.parks and target is not None and target.renderer.stopped:
            parked = target.renderer.parked
            parked.insert(0 if command.parks == table.FIRST else len(parked), run)
        else:
            run()
        self._world.run_soon()

    def _run(self, session: Session, request: Request, command: table.Modelled, params: Json) -> None:
        target = session.target
        if not session.open or request.id not in session.in_flight:
            return
        no_renderer = target is not None and (
            target.closed or (target.crashed and not table.is_answered_after_crash(target, request.method))
        )
        if command.by_renderer and no_renderer:
            return
        since = None if command.by_renderer else session.client.streams.last_number
        by_both = request.method in table.ANSWERED_BY_RENDERER and target is not None

        def answer(outcome: Json) -> None:
            if request.id in session.in_flight:  # otherwise it was broken off, and has its reply
                self._world.reply(session, request.id, request.method, outcome, since=since, by_both=by_both)

        try:
            call = table.Call(self._world, self._player, session, params, answer, self._close, self._receive_nested)
            result = command.run(call)
        except Refused as refused:
            self._refused += 1
            answer({"error": refused.error})
            return
        if result is not table.LATER:
            answer({"result": result})

    # ── faults ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _apply_link_faults(self) -> None:
        """Apply the faults that break or silence a link before its next message."""
        for end in self._faulty:
            if (
                end.connected
                and len(end._client.streams)
                and not end.faults.survives("out", "before", end.delivered + 1)
            ):
                end.lost()

    # ── disconnecting ────────────────────────────────────────────────────────────────────────────────────────────────

    def _close(self) -> None:
        for target in reversed(self._world.pages()):
            targets.close(self._world, target)
        self._world.closed = True
        for client in self._world.clients:
            client.end()

    def _disconnect(self, client: Client) -> None:
        if not client.connected:
            return
        for session in [each for each in client.sessions.values() if each.parent is client.root]:
            sessions.detach(self._world, session, emit_event=False)
        if client.page is not None and client.root in client.page.sessions:
            client.page.sessions.remove(client.root)
        fetching.leave(self._world, client.root)
        client.streams.clear()
        client.end()
        for context in [each for each in self._world.contexts.values() if each.owner is client]:
            table.dispose(self._world, context)
        self._world.run_soon()
