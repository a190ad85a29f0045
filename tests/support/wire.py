"""A TCP proxy in front of a browser, for tests that cut connections."""

from __future__ import annotations

import attrs
import trio


@attrs.define(kw_only=True, eq=False)
class Wire:
    """A TCP proxy in front of a browser that can cut its connections and refuse new ones."""

    port: int
    to: int
    path: str
    refusing: bool = False
    cuts: int = 0
    _streams: set[trio.SocketStream] = attrs.field(factory=set)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}{self.path}"

    async def cut(self, *, refuse: bool = False) -> None:
        """End every connection without a closing handshake."""
        self.refusing = refuse
        self.cuts += 1
        for stream in tuple(self._streams):
            await trio.aclose_forcefully(stream)

    async def serve(self, client: trio.SocketStream) -> None:
        if self.refusing:
            await client.aclose()
            return
        browser = await trio.open_tcp_stream("127.0.0.1", self.to)
        ours = {client, browser}
        self._streams |= ours
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._carry, client, browser, nursery.cancel_scope)
                nursery.start_soon(self._carry, browser, client, nursery.cancel_scope)
        finally:
            self._streams -= ours
            with trio.CancelScope(shield=True):
                for stream in ours:
                    await trio.aclose_forcefully(stream)

    async def _carry(self, source: trio.SocketStream, to: trio.SocketStream, scope: trio.CancelScope) -> None:
        try:
            async for some in source:
                await to.send_all(some)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        scope.cancel()
