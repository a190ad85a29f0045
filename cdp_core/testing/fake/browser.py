"""A browser without a browser, and without an event loop: messages in, messages out, time given by the caller.

    fake = FakeBrowser()
    end = fake.connect()
    end.receive(b'{"id":1,"method":"Browser.getVersion"}')
    [answer] = end.drain()

Several clients may connect. What they are told waits in streams: `fake.ready()` are the messages that may come next,
`fake.deliver(one)` delivers it (its end and the message), `end.drain()` all of one client's in the order of arising. `fake.play(step, …)` lets pages
act, `fake.advance(to)` lets time pass, `fake.truth()` is what is really so, whatever any client was told, and `fake.command_log()`
what became of each command.

`faults` say what goes wrong on purpose (faults.py); `schedule` is for whoever drives it (simulation.py), but for its edges, which
are the browser's own choice of what may cross over.
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
"""A refusal is caused by nothing that was said."""
SESSION_NOT_FOUND: Final[Json] = {"code": -32001, "message": "Session with given id not found."}


class FakeBrowser(Inspection):
    """See the module."""

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
            raise InvalidArgument(f"{profile!r} is no profile; there are {', '.join(PROFILES)}.")
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
        """A connection to the browser, or to one page. Raises InvalidArgument for a path that names nothing here.

        `edges` says what may cross over on the way to it; otherwise the schedule does.
        """
        page = None
        if path not in (None, self.path):
            assert path is not None
            page = self._world.targets.get(path.removeprefix("/devtools/page/"))
            if page is None or not path.startswith("/devtools/page/"):
                raise InvalidArgument(f"{path} names nothing of this browser; its own path is {self.path}.")
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
        """Every connection breaks."""
        for end in tuple(self._ends.values()):
            end.lost()

    def transport(self, path: str | None = None) -> Transport:
        """A connection as a transport under trio: see FakeTransport."""
        # It needs an event loop, which nobody has to have who uses the rest.
        made: Callable[..., Transport] = import_module("cdp_core.testing.transport").FakeTransport
        return made(self, path)

    # ── what is to be delivered ──────────────────────────────────────────────────────────────────────────────────────

    def ready(self) -> tuple[ReadyMessage, ...]:
        """What may come next, for every client."""
        return tuple(ReadyMessage(end, delivery) for end in self._ends.values() for delivery in end.ready())

    @overload
    def deliver(self, due: ReadyMessage | Delivery, /) -> tuple[ClientEnd, bytes]: ...
    @overload
    def deliver(self, end: ClientEnd, delivery: Delivery, /) -> bytes: ...
    def deliver(self, *_what: Any) -> Any:
        """Take one message: its end and what it says, the latter alone for an end that is given.

        Raises ValueError where it may not come yet.
        """
        if len(_what) == 2:
            return self._deliver(*_what)
        [due] = _what
        if not isinstance(due, (ReadyMessage, Delivery)):
            raise InvalidArgument(f"{due!r} is nothing to deliver; take one of ready().")
        end, delivery = due if isinstance(due, ReadyMessage) else (self._end_of(due), due)
        return end, self._deliver(end, delivery)

    def _end_of(self, delivery: Delivery) -> ClientEnd:
        waiting = (end for end in self._ends.values() if end._client.streams.waiting_one(delivery.number) is delivery)
        end = next(waiting, None)
        if end is None:
            raise ValueError(f"message {delivery.number} ({delivery.what}) does not wait any more")
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
        """Virtual time, in seconds from the start."""
        return self._world.now

    def play(self, *steps: Step | Script) -> None:
        """Let pages act now; a whole script is known from now on, and its timeline begins. Raises InvalidArgument."""
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
        """Let time pass until then. Raises InvalidArgument for what is no time, or is past."""
        if type(to) not in (int, float) or not self.now <= to < math.inf:
            raise InvalidArgument(f"{to!r} is no time to come; it is {self.now} s, and time does not run backwards.")
        self._world.advance(to)
        self._apply_link_faults()

    def next_time(self) -> float | None:
        """When something happens by itself; None for never."""
        return self._world.next_time()

    # ── what is so ───────────────────────────────────────────────────────────────────────────────────────────────────

    def assert_clean(self) -> None:
        """Raise AssertionError that names what clients left behind, or should not have sent.

        Paused targets, open dialogs, malformed messages; requests that they hold, ids used twice, words to sessions that never
        were; what those have switched on that are still connected (behaviour.py).
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
        """A message for a session that is not flat: it came as a parameter on the one above."""
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
            self._world.soon(execute)  # its renderer answers when the command that this came in was answered
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
            # It is refused because the session has ended, of which the client was told before.
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
            if first is not None:  # it is still to be answered
                session.in_flight[request.id] = first
            if first:
                self._execute_duplicate(session, request)
            return
        self._start(session, request, command, params)

    def _execute_duplicate(self, session: Session, request: Request) -> None:
        """Its id was refused, and yet the renderer gets it, and what answers first is the answer (fact 54).

        The one before stays with the session, which sends it once more to the renderer of a document to come.
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
        """Whether it was sent; otherwise another one with its id is on its way."""
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
            session.in_flight[request.id] = ""  # the renderer was not asked yet, so that nothing breaks it off
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
            target.closed or (target.crashed and request.method not in table.BEGUN_BY_BROWSER)
        )
        if command.by_renderer and no_renderer:
            return
        since = None if command.by_renderer else session.client.streams.last_number
        by_both = request.method in table.ANSWERED_BY_RENDERER and target is not None

        def answer(outcome: Json) -> None:
            if request.id in session.in_flight:  # or it was broken off, and answered so
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

    # ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────

    def _apply_link_faults(self) -> None:
        """Links that break, or fall silent, before the message that is next."""
        for end in self._faulty:
            if (
                end.connected
                and len(end._client.streams)
                and not end.faults.survives("out", "before", end.delivered + 1)
            ):
                end.lost()

    # ── ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────

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
