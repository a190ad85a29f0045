"""Workers: scripts without a document, each in a target of its own.

    dedicated   belongs to one document, and ends with it. The sessions that watch the document's target attach to it. It
                is reported without a URL, and has one when a session attaches
    shared      one per URL, as long as a document that asked for it exists, even a cached one. Only browser-level
                sessions attach to it (fact 48)
    service     one per URL; it outlives every page. Browser-level sessions attach to it, and those of every page of its
                origin, as soon as the page exists, so that a client may have several sessions on it (fact 48)

Each worker reports that its script is loaded, once more to each session that comes later. A worker that waits has not
run yet, but its context exists, and answers. The exception is a service worker that waits for the sessions of the
page that registers it: it has no process. It answers nothing until these sessions resume it, and does not wait for
any other session.

A dedicated worker of a document that is kept (fact 43) loses its sessions, and comes back with the document without
an event. A shared worker reports the end of its process before the end of its sessions. So does a service worker that
is stopped; it then stays for the sessions that are attached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final
from urllib.parse import urljoin

from cdp_core.testing.fake.model import contexts, dialogs, sessions, targets
from cdp_core.testing.fake.model.parts import Frame, Session, Target
from cdp_core.testing.fake.world import World

TYPES: Final[dict[str, str]] = {"dedicated": "worker", "shared": "shared_worker", "service": "service_worker"}
Run = Callable[[Frame, Callable[[], None]], None]
"""Runs the script of a worker, then calls the function that it was given."""


# ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def start(world: World, frame: Frame, kind: str, url: str, run: Run) -> Target:
    """Start a worker for a document's script, or return the one that exists.

    A new worker appears when that script is over.
    """
    address = urljoin(contexts.document_url(frame), url)
    target = None if kind == "dedicated" else _found(world, frame, TYPES[kind], address)
    if target is None:
        target = _made(world, frame, TYPES[kind], address)
        made, document = target, frame.document
        world.add_worker(target)
        world.soon(lambda: _appear(world, made, frame, document, run))
    if kind == "shared":
        target.users.append((frame, frame.document))
    return target


def _found(world: World, frame: Frame, kind: str, address: str) -> Target | None:
    for each in world.page_independent.values():
        same = each.type == kind and each.scope is not None and each.scope.url == address
        if same and each.context is frame.target.context and not each.crashed:
            return each
    return None


def _made(world: World, frame: Frame, kind: str, address: str) -> Target:
    target = Target(world.ids.new("target"), kind, frame.target.context, world.new_renderer())
    target.scope = Frame(world.ids.new("worker"), target, None, target.renderer, url=address)
    if kind == "worker":
        target.parent_frame, target.owner_document = frame, frame.document
    else:
        target.url = address
        target.title = f"Service Worker {address}" if kind == "service_worker" else ""
    return target


def _appear(world: World, target: Target, frame: Frame, document: int, run: Run) -> None:
    """Report a worker, and run its script as soon as it may."""
    if frame.target.closed or frame.target.crashed or frame.document != document or frame.id not in world.frames:
        world.remove_worker(target)
        return
    assert target.scope is not None
    contexts.make(world, target.scope)
    targets.create_worker(world, target, _watching(world, target, frame))
    if target.type == "service_worker":
        _wait_for_registering_page(target, frame.target)

    def begin() -> None:
        assert target.scope is not None
        if not target.closed:
            run(target.scope, lambda: targets.script_loaded(world, target))

    def let_run() -> None:
        target.renderer.absent = False
        dialogs.resume(target.renderer)
        world.soon(begin)

    if target.held:
        target.when_run.append(let_run)
    else:
        begin()


def _wait_for_registering_page(target: Target, maker: Target) -> None:
    """Let only the sessions of the registering page hold a service worker, if any of them does."""
    deciding = {each for each in target.held if each.parent is not None and each.parent.target is maker}
    if deciding:
        target.renderer.absent = True
        target.held.intersection_update(deciding)


def stop(world: World, target: Target) -> None:
    """Stop a service worker: it answers nothing, and is gone when no session is attached any more."""
    target.crashed = True
    for session in tuple(target.sessions):
        world.emit(session, "Inspector.targetCrashed", {}, target)


def _watching(world: World, target: Target, frame: Frame) -> list[Session]:
    if target.type == "worker":
        return list(frame.target.sessions)
    found = list(world.roots())
    if target.type == "service_worker":
        pages = [each for each in world.targets.values() if sessions.is_of_origin(target, each)]
        found += [session for page in pages for session in page.sessions]
    return found


# ── ending ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def leave(world: World, documents: Iterable[tuple[Frame, int]], keep: bool) -> None:
    """End the workers of documents that are left; `keep` caches the dedicated ones with them."""
    if not world.workers:
        return
    left = list(documents)
    for target in [
        each for frame, document in left for each in frame.workers.values() if each.owner_document == document
    ]:
        if target.id not in world.targets:
            continue  # it has not appeared yet, and will not
        if keep:
            targets.cache_worker(world, target)
        else:
            targets.close(world, target)
    gone = {(frame.id, document) for frame, document in left}
    for target in () if keep else tuple(world.page_independent.values()):
        if target.users and target.id in world.targets:
            target.users[:] = [each for each in target.users if not _is_gone(*each, gone)]
            if not target.users:
                world.soon(partial(_end_unused, world, target))


def _is_gone(frame: Frame, document: int, gone: set[tuple[str, int]]) -> bool:
    return (frame.id, document) in gone or frame.target.page.closed


def _end_unused(world: World, target: Target) -> None:
    if not target.users:
        close(world, target)


def close(world: World, target: Target) -> None:
    """Close a worker that ended, or that no document uses any more."""
    if target.type == "worker":
        targets.close(world, target)
    elif not target.closed:
        targets.close_worker(world, target)


def watch_origin(world: World, page: Target) -> None:
    """Attach a page that shows another document to the service workers of that origin only."""
    for target in tuple(world.page_independent.values()):
        if target.type != "service_worker" or sessions.is_of_origin(target, page):
            continue
        watching = [
            each for each in target.sessions if each.auto_attached and each.parent and each.parent.target is page
        ]
        for session in watching:
            sessions.detach(world, session)
        if watching and target.crashed and not target.sessions:
            targets.close(world, target)
    if any(target.type == "service_worker" for target in world.page_independent.values()):
        for session in page.sessions[:1]:
            sessions.auto_attach_existing(world, session, only="service_worker")
