"""Frames as events and results show them: one frame, and the frame tree of one session."""

from __future__ import annotations

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.addresses import origin_of
from cdp_core.testing.fake.model.contexts import document_url
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.world import World


def described(world: World, frame: Frame) -> Json:
    """Return a frame as events and results show it."""
    unexplained = frame.parent is None or world.profile == "headless-shell"
    shown: Json = {"id": frame.id}
    if frame.parent is not None:
        shown["parentId"] = frame.parent.id
    shown["loaderId"] = world.loader_of(frame)
    if frame.parent is not None:
        shown["name"] = frame.name
    address, found, fragment = frame.url.partition("#")
    shown |= {
        "url": address,
        **({"urlFragment": f"#{fragment}"} if found else {}),
        **({"unreachableUrl": frame.unreachable} if frame.unreachable else {}),
        "domainAndRegistry": _registry(frame.url),
        "securityOrigin": frame.origin,
        "securityOriginDetails": {"isLocalhost": _is_local(frame.url)},
        "mimeType": frame.mime or _mime_of(frame.url),
        "adFrameStatus": {"adFrameType": "none", **({} if unexplained else {"explanations": []})},
        "secureContextType": _secure(frame),
        "crossOriginIsolatedContextType": "NotIsolated" if _shares_origin(frame) else "NotIsolatedFeatureDisabled",
        "gatedAPIFeatures": [],
    }
    return shown


def tree(world: World, frame: Frame) -> Json:
    """Return a frame with the frames below it that have the same target: OOPIFs are absent (fact 41)."""
    shown: Json = {"frame": described(world, frame)}
    children = [tree(world, child) for child in frame.children if child.target is frame.target]
    if children:
        shown["childFrames"] = children
    return shown


def _host(url: str) -> str:
    return origin_of(url).partition("://")[2].partition(":")[0]


def _registry(url: str) -> str:
    host = _host(url)
    return "" if not host or "." not in host or host.rpartition(".")[2].isdigit() else host


def _mime_of(url: str) -> str:
    """Return the MIME type of a document: HTML, unless its URL names another one."""
    if not url.startswith("data:"):
        return "text/html"
    return url.removeprefix("data:").partition(",")[0].partition(";")[0] or "text/plain"


def _shares_origin(frame: Frame) -> bool:
    above = frame.parent
    if above is None:
        return True
    same = origin_of(document_url(frame)) == origin_of(document_url(above))
    return frame.target is above.target and same and _shares_origin(above)


def _secure(frame: Frame) -> str:
    url = document_url(frame)
    if not (_is_local(url) or url.startswith("https://")):
        return "InsecureScheme"
    if frame.parent is not None and not _secure(frame.parent).startswith("Secure"):
        return "InsecureAncestor"
    return "SecureLocalhost" if _is_local(url) else "Secure"


def _is_local(url: str) -> bool:
    return _host(url) in ("localhost", "127.0.0.1") or _host(url).endswith(".localhost")
