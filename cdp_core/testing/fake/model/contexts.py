"""Execution contexts of documents: the main world of each, and isolated worlds for clients' scripts.

    a document appears ──▶ its main world, then the worlds of the init scripts, in the order of adding, then the worlds
                           that its frame had before, if the process is still the same
    a document ends    ──▶ all of them at once if the page itself navigates; for a frame inside it, the main world, then
                           the others, the newest first

A page cannot see what runs in an isolated world. A named world exists once per document, whichever client asks for
it; a world without a name is new each time. Context ids count up per process. A remote object belongs to a context,
and ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.addresses import origin_of
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.parts import Frame, IsolatedWorld, Target
from cdp_core.testing.fake.world import World
from cdp_core.testing.steps import Override

_OBJECT: Final = re.compile(r"(-?\d+)\.(\d+)\.(\d+)")
_UNIQUE: Final = re.compile(r"-?\d+\.-?\d+")
NO_CONTEXT: Final = "Cannot find context with specified id"


# ── creating and ending ──────────────────────────────────────────────────────────────────────────────────────────────


def make(world: World, frame: Frame) -> None:
    earlier = [each for each in frame.worlds if each.renderer is frame.renderer]
    frame.worlds = []
    frame.objects.clear()
    _begin(world, frame)
    for each in earlier:
        isolated_world(world, frame, each.name, origin=each.origin)


def make_empty(world: World, frame: Frame) -> None:
    """Create the main context of the empty document with which the successor of a crashed process begins."""
    _make_main(world, frame)
    about = {"isDefault": True, "type": "default", "frameId": frame.id}
    described = _described(frame.context, "://", "", frame.context_unique, about)
    world.emit_to(frame.target, "Runtime", "Runtime.executionContextCreated", {"context": described}, frame)


def run_scripts(world: World, frame: Frame) -> None:
    """Run the init scripts: create the worlds that they run in, and apply their dialog overrides."""
    for session in frame.target.sessions:
        run_script(frame, *session.overrides.values())
        for name in filter(None, session.scripts.values()):
            isolated_world(world, frame, name)


def run_script(frame: Frame, *overrides: Override) -> None:
    """Apply the dialog overrides of scripts in a document's main world; the last one stays."""
    for each in overrides:
        frame.settings.override = each


def isolated_world(world: World, frame: Frame, name: str, *, origin: str | None = None) -> IsolatedWorld:
    """Return the isolated world of this name; create and report it if the document has none yet."""
    found = next((each for each in frame.worlds if name and each.name == name), None)
    if found is not None:
        return found
    frame.renderer.contexts += 1
    made = IsolatedWorld(
        frame.renderer.contexts,
        world.ids.unique("isolated world"),
        name,
        origin_of(document_url(frame)) if origin is None else origin,
        frame.renderer,
    )
    frame.worlds.append(made)
    world.emit_to(frame.target, "Runtime", "Runtime.executionContextCreated", {"context": _other(frame, made)}, frame)
    return made


def ended(frame: Frame) -> list[Json]:
    """End a frame's contexts, and return the params of an event for each.

    This is for contexts that do not end with the whole page.
    """
    main = [] if not frame.context else [(frame.context, frame.context_unique)]
    others = [(each.id, each.unique) for each in reversed(frame.worlds)]
    frame.objects.clear()
    frame.context = 0
    return [{"executionContextId": number, "executionContextUniqueId": unique} for number, unique in main + others]


def all_of(world: World, target: Target) -> list[Json]:
    """Return the contexts that `Runtime.enable` reports (fact 41): of a target's own frames, newest first.

    Each frame gets one when the first client asks; a frame that is added later has to wait for its document.
    """
    own = list(_own_frames(target))
    if not any("Runtime" in session.domains for session in target.sessions):
        for frame in own:
            main_of(world, frame)
    own = [frame for frame in own if frame.context]
    found = [_main(frame) for frame in own] + [_other(frame, each) for frame in own for each in frame.worlds]
    return sorted(found, key=lambda each: -each["id"])


def main_of(world: World, frame: Frame) -> int:
    """Return the id of the main context; create it, and run the init scripts, if there is none yet."""
    if not frame.context:
        _begin(world, frame)
    return frame.context


def _begin(world: World, frame: Frame) -> None:
    _make_main(world, frame)
    world.emit_to(frame.target, "Runtime", "Runtime.executionContextCreated", {"context": _main(frame)}, frame)
    run_scripts(world, frame)


def _make_main(world: World, frame: Frame) -> None:
    frame.renderer.contexts += 1
    frame.context = frame.renderer.contexts
    frame.context_unique = world.ids.unique("execution context")


def _main(frame: Frame) -> Json:
    if frame is frame.target.scope:  # a worker has no document
        return {"id": frame.context, "origin": frame.url, "name": "", "uniqueId": frame.context_unique}
    about = {"isDefault": True, "type": "default", "frameId": frame.id}
    return _described(frame.context, origin_of(document_url(frame)), "", frame.context_unique, about)


def _other(frame: Frame, made: IsolatedWorld) -> Json:
    about = {"isDefault": False, "type": "isolated", "frameId": frame.id}
    return _described(made.id, made.origin, made.name, made.unique, about)


def _described(number: int, origin: str, name: str, unique: str, about: Json) -> Json:
    return {"id": number, "origin": origin, "name": name, "uniqueId": unique, "auxData": about}


def document_url(frame: Frame) -> str:
    """Return the URL that a frame's site comes from: an empty document has its parent's, or its opener's."""
    while frame.url.startswith("about:"):
        if frame.initiator_url:
            return frame.initiator_url
        target = frame.target
        maker = frame.parent or (target.opener if target.can_access_opener and frame.loader == "" else None)
        if maker is None:
            break
        frame = maker
    return frame.url


# ── lookup ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def find(target: Target, number: int) -> Frame:
    """Return the frame that has the context with this id. Raises Refused."""
    for frame in _own_frames(target):
        if number in (frame.context, *(each.id for each in frame.worlds)):
            return frame
    raise Refused(-32000, NO_CONTEXT)


def find_unique(target: Target, unique: str) -> tuple[Frame, int]:
    """Return the frame that has the context with this unique id, and its plain id. Raises Refused."""
    if not _UNIQUE.fullmatch(unique):
        raise Refused(-32602, "invalid uniqueContextId")
    for frame in _own_frames(target):
        both = [(frame.context_unique, frame.context), *((each.unique, each.id) for each in frame.worlds)]
        for named, number in both:
            if named == unique and number:
                return frame, number
    raise Refused(-32602, "uniqueContextId not found")


def _own_frames(target: Target) -> Iterator[Frame]:
    if target.frame is not None:
        yield from (frame for frame in target.frame.subtree() if frame.target is target)
    if target.scope is not None:
        yield target.scope


# ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def keep_object(world: World, frame: Frame, context: int, value: Json) -> str:
    """Keep an object that a client receives, and return its remote object id."""
    renderer = frame.renderer
    if not renderer.isolate:
        renderer.isolate = world.ids.unique("isolate").partition(".")[0]
    renderer.objects_given += 1
    object_id = f"{renderer.isolate}.{context}.{renderer.objects_given}"
    frame.objects[object_id] = value
    return object_id


def kept_object(target: Target, object_id: str) -> tuple[Frame, int, Json]:
    """Return the frame and the context id that a kept object belongs to, and the object. Raises Refused."""
    parts = _OBJECT.fullmatch(object_id)
    if parts is None:
        raise Refused(-32000, "Invalid remote object id")
    context = int(parts[2])
    frame = find(target, context)
    if frame.renderer.isolate != parts[1]:
        raise Refused(-32000, NO_CONTEXT)
    if object_id not in frame.objects:
        raise Refused(-32000, "Could not find object with given id")
    return frame, context, frame.objects[object_id]


def release_object(target: Target, object_id: str) -> None:
    """Release a kept object. Raises Refused."""
    frame, _, _ = kept_object(target, object_id)
    del frame.objects[object_id]
