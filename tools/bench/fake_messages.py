"""The messages of the fake endpoint: canned replies, and floods of events built beforehand.

Shapes and sizes are those of Chromium: `method` or `id` first, `sessionId` last, pure ASCII, one unfragmented text
frame per message. The shape `mixed` is typical for a supervisor: of `MIX` consecutive events of a page, four are
about a frame that is added and removed, two about a dialog, the rest are console messages. A flood goes round-robin
over the sessions, in chunks of about 256 KiB, as a busy browser's socket delivers it. Everything is built before the
clock starts, so that the client is the bottleneck.
"""

from __future__ import annotations

import functools
import hashlib
import struct
import threading

CHUNK = 262144
TARGET = (
    '{"targetId":"T1","type":"page","title":"","url":"about:blank","attached":true,'
    '"canAccessOpener":false,"browserContextId":"C1"}'
)
MIX = 20
BROWSER_TARGET = TARGET.replace("page", "browser")
CANNED = {
    b"Runtime.evaluate": b'{"result":{"type":"number","value":2,"description":"2"}}',
    b"Browser.getVersion": b'{"protocolVersion":"1.3","product":"HeadlessChrome/156.0.0.0","revision":"@0",'
    b'"userAgent":"Mozilla/5.0 HeadlessChrome/156.0.0.0","jsVersion":"15.6"}',
    b"Target.getTargetInfo": b'{"targetInfo":%s}' % BROWSER_TARGET.encode(),
    b"Target.getTargets": b'{"targetInfos":[%s]}' % TARGET.encode(),
    b"Target.getBrowserContexts": b'{"browserContextIds":[]}',
}


def session_id(number: int) -> str:
    """Return the id of the nth session that a connection opens."""
    return hashlib.md5(b"session%d" % number).hexdigest().upper()


def frame_head(size: int) -> bytes:
    """Return the head of an unmasked text frame."""
    if size < 126:
        return bytes((0x81, size))
    if size < 65536:
        return struct.pack("!BBH", 0x81, 126, size)
    return struct.pack("!BBQ", 0x81, 127, size)


def wrap(payload: bytes, *, pipe: bool) -> bytes:
    """Return a message as its transport carries it: a WebSocket frame, or with a final NUL on a pipe."""
    return payload + b"\0" if pipe else frame_head(len(payload)) + payload


def page_id(number: int) -> str:
    """Return the id of the nth page; its session is the nth that a connection opens."""
    return hashlib.md5(b"page%d" % number).hexdigest().upper()


def frame_tree(target_id: str) -> bytes:
    """Return the result of Page.getFrameTree for a page without iframes."""
    frame = f'{{"id":"{target_id}","loaderId":"L","url":"about:blank","securityOrigin":"://","mimeType":"text/html"}}'
    return f'{{"frameTree":{{"frame":{frame}}}}}'.encode()


def event(number: int, shape: str, session: str, index: int = 0, turn: int = 0) -> bytes:
    """Return the nth event of a flood; an empty `session` means none.

    For `mixed`, `index` is the number of the page, and `turn` the number of the event on that page.
    """
    tail = f',"sessionId":"{session}"}}' if session else "}"
    if shape == "mixed":
        of_page = _of_page(page_id(index), *divmod(turn, MIX))
        if of_page is not None:
            method, params = of_page
            return f'{{"method":"{method}","params":{params}{tail}'.encode()
    if shape == "dialog":
        kind = ("alert", "confirm", "prompt", "beforeunload")[number % 4]
        params = (
            '{"url":"https://example.test/some/page.html","frameId":"5E1D3C1B0A9F8E7D6C5B4A3928170615",'
            f'"message":"Are you sure? {number}","type":"{kind}","hasBrowserHandler":{"false" if number % 3 else "true"},'
            '"defaultPrompt":""}'
        )
        return f'{{"method":"Page.javascriptDialogOpening","params":{params}{tail}'.encode()
    if shape == "network":
        params = (
            f'{{"requestId":"{7000 + number % 50}.{number % 997}",'
            f'"timestamp":{22000 + number // 1000}.{number % 1000000:06d},'
            f'"dataLength":{1000 + number % 60000},"encodedDataLength":0}}'
        )
        return f'{{"method":"Network.dataReceived","params":{params}{tail}'.encode()
    params = (
        '{"type":"log","args":[{"type":"string","value":"hello from the page"},'
        f'{{"type":"number","value":{number},"description":"{number}"}}],"executionContextId":3,'
        f'"timestamp":1763460000{number % 1000:03d}.{number % 1000:03d},'
        '"stackTrace":{"callFrames":[{"functionName":"tick","scriptId":"17",'
        f'"url":"https://example.test/static/app.js","lineNumber":12,"columnNumber":{number % 80}}}]}}}}'
    )
    return f'{{"method":"Runtime.consoleAPICalled","params":{params}{tail}'.encode()


def _of_page(page: str, turn: int, at: int) -> tuple[str, str] | None:
    """Return event `at` of the page's round `turn`, or None for a console message."""
    frame = hashlib.md5(f"{page}{turn}".encode()).hexdigest().upper()
    url = f'"url":"https://frame.test/{turn}.html"'
    if at == 0:
        return "Page.frameAttached", f'{{"frameId":"{frame}","parentFrameId":"{page}"}}'
    if at == 3:
        about = f'"auxData":{{"isDefault":true,"type":"default","frameId":"{frame}"}}'
        context = f'"id":{turn},"origin":"https://frame.test","name":"","uniqueId":"-1.{turn}",{about}'
        return "Runtime.executionContextCreated", f'{{"context":{{{context}}}}}'
    if at == 6:
        shown = f'"id":"{frame}","parentId":"{page}","loaderId":"{turn}",{url},"domainAndRegistry":"frame.test"'
        more = '"securityOrigin":"https://frame.test","mimeType":"text/html","adFrameStatus":{"adFrameType":"none"}'
        return "Page.frameNavigated", f'{{"frame":{{{shown},{more}}},"type":"Navigation"}}'
    if at == 10:
        what = '"message":"Are you sure?","type":"confirm","hasBrowserHandler":false,"defaultPrompt":""'
        return "Page.javascriptDialogOpening", f'{{{url},"frameId":"{page}",{what}}}'
    if at == 12:
        return "Page.javascriptDialogClosed", f'{{"frameId":"{page}","result":true,"userInput":""}}'
    if at == 18:
        return "Page.frameDetached", f'{{"frameId":"{frame}","reason":"remove"}}'
    return None


@functools.lru_cache(4)
def repeated(character: bytes, count: int) -> bytes:
    """Return the body of a big result, cached."""
    return character * count


@functools.cache
def _flood(n: int, k: int, shape: str, *, pipe: bool) -> list[bytes]:
    sessions = [session_id(i) for i in range(k)] or [""]
    chunks: list[bytes] = []
    part: list[bytes] = []
    size = 0
    for i in range(n):
        message = wrap(event(i, shape, sessions[i % len(sessions)], i % len(sessions), i // len(sessions)), pipe=pipe)
        part.append(message)
        size += len(message)
        if size > CHUNK:
            chunks.append(b"".join(part))
            part, size = [], 0
    return [*chunks, b"".join(part)]


_building = threading.Lock()


def flood(n: int, k: int, shape: str, *, pipe: bool = False) -> list[bytes]:
    """Return the bytes of a whole flood in chunks, built once."""
    with _building:
        return _flood(n, k, shape, pipe=pipe)
