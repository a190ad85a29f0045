"""The steps of the pages in the recorded traces, and the traces that the fake does not cover."""

from __future__ import annotations

import attrs

from cdp_core.testing.steps import (
    AddFrame,
    Answer,
    Close,
    Console,
    Dialog,
    Go,
    MoveFrame,
    Navigate,
    NavigateFrame,
    Override,
    Popup,
    Prerender,
    PushState,
    RemoveFrame,
    Request,
    Served,
    Wait,
    Worker,
)
from support.fake_replay.replay import Acts

DEEP = (AddFrame("deep", "{z}/blank.html?title=deep"), AddFrame("leaf", "{y}/blank.html?title=leafsame"))
COMMON = {
    "{a}/frames.html": (
        AddFrame("same", "{a}/blank.html?title=same"),
        AddFrame("cross", "{b}/blank.html?title=cross"),
        AddFrame("doc", "about:srcdoc"),
        AddFrame("empty"),
    ),
    "{a}/nest1.html": (AddFrame("nest2", "{x}/nest2.html"),),
    "{x}/nest2.html": (AddFrame("nest3", "{y}/nest3.html"),),
    "{y}/nest3.html": DEEP,
    "{a}/holder.html?src=%2Fblank.html": (AddFrame("held", "{a}/blank.html"),),
    "{a}/holder.html?src=%2Fblank.html%3Ftitle%3Dsame": (AddFrame("held", "{a}/blank.html?title=same"),),
    "{a}/early.html": (Console("early first line"), Dialog("confirm", "early?")),
    "{a}/early.html?title=z": (Console("early first line"), Dialog("confirm", "early?")),
    "{a}/manyframes.html": tuple(
        AddFrame(f"f{number}", f"{{{'b' if number % 9 == 8 else 'a'}}}/blank.html?i={number}") for number in range(45)
    ),
}
BRIDGES = {
    f"xhr('{scheme}://dlg-bridge.invalid/'": Override(
        f"{scheme}://dlg-bridge.invalid/?kind={{type}}&message={{message}}&d={{default}}"
    )
    for scheme in ("http", "https")
}
"""The recorder's init scripts: they replace dialogs by requests for the answer."""
CHILD = (
    "new Promise(r => { const f = document.createElement('iframe'); f.name = 'nm'; f.src = '/blank.html?title=child';"
    " f.onload = r; document.body.append(f); }).then(()=>1)"
)


def navigates(label: str, *urls: str) -> dict[str, Answer]:
    return {
        f"document.querySelector('iframe').src = '{url}'; 1": Answer(1, (NavigateFrame(label, url),)) for url in urls
    }


ACTS = {
    "dialog_attach_late": Acts(
        answers={
            "window.v = confirm('survives?')": Answer(True, (Dialog("confirm", "survives?"),)),
            "window.v": Answer(True),
        }
    ),
    "dialog_keeper_socket": Acts(
        answers={"window.v = confirm('drop')": Answer(True, (Dialog("confirm", "drop"),)), "window.v": Answer(True)}
    ),
    "dialog_in_frames": Acts(
        answers={
            "document.getElementById('same').contentWindow.eval(\"confirm('same iframe')\")": Answer(
                True, (Dialog("confirm", "same iframe", frame="same"),)
            ),
            "document.getElementById('doc').contentWindow.eval(\"confirm('srcdoc')\")": Answer(
                True, (Dialog("confirm", "srcdoc", frame="doc"),)
            ),
            "document.getElementById('cross').remove()": Answer(None, (RemoveFrame("cross"),)),
        }
    ),
    "dialog_no_page_domain": Acts(
        answers={
            "[confirm('nobody'), prompt('x','d')]": Answer(
                [False, None], (Dialog("confirm", "nobody"), Dialog("prompt", "x", "d"))
            )
        }
    ),
    "dialog_wedge_recovery": Acts(
        answers={
            "window.v = confirm('unseen')": Answer(False, (Dialog("confirm", "unseen"),)),
            "confirm('detach me')": Answer(False, (Dialog("confirm", "detach me"),)),
        }
    ),
    "dialog_burst_events": Acts(
        answers={
            "var n=0; setInterval(()=>console.log('oopif tick '+(n++)), 50); 1": Answer(1),
            "setTimeout(()=>{console.log('before'); alert('t1'); console.error('between'); alert('t2'); console.log('after')}, 10); 1": Answer(
                1
            ),
        },
        at={
            62: (
                Console("before"),
                Dialog("alert", "t1"),
                Console("between", type="error"),
                Dialog("alert", "t2"),
                Console("after"),
            ),
            **{
                index: (Console(f"oopif tick {number}", frame="cross"),)
                for number, index in enumerate((64, 65, 66, 67, 68, 69, 75, 76, 77, 78, 82, 83, 85, 86, 87, 88))
            },
        },
    ),
    "hermes_frames_late": Acts(timeline=(Navigate("{a}/nest1.html"),)),
    "hermes_reconnect_clean": Acts(at={64: (Navigate("{a}/nest1.html"),)}),
    # Its handlers call alert and confirm while the document is left; each returns at once without an event (fact 22).
    "dialog_unload_handlers": Acts(
        answers={
            "JSON.stringify(Object.fromEntries(Object.keys(localStorage).map(k=>[k,localStorage[k]])))": Answer(
                '{"r_pagehide":"false","r_visibilitychange":"false","r_bu":"false","r_unload":"false"}'
            )
        }
    ),
    "wire_errors": Acts(
        texts={70: '{"id":1027,"id":1028,"method":"Target.getBrowserContexts"}'},
        unexplained_ends={88: "a binary frame"},
    ),
    "dialog_close_and_crash": Acts(
        answers={"window.close()": Answer(None)}, at={171: (Close("page 5"),)}, foreign=(248, 249)
    ),
    "frames_basic": Acts(
        answers={
            CHILD: Answer(1, (AddFrame("nm", "{a}/blank.html?title=child"), Wait(1))),
            "document.querySelector('iframe').src = '/blank.html?title=child2'; 1": Answer(
                1, (NavigateFrame("nm", "{a}/blank.html?title=child2"),)
            ),
            "const m = document.querySelector('iframe'); document.body.append(m); 1": Answer(1, (MoveFrame("nm"),)),
            "{const f = document.createElement('iframe'); document.body.append(f); f.contentDocument.body.innerHTML='<iframe srcdoc=x></iframe>'}; 1": Answer(
                1, (AddFrame("f"), AddFrame("x", "about:srcdoc", parent="f"))
            ),
            "document.querySelector('iframe').contentWindow.history.pushState({}, '', '/pushed'); 1": Answer(
                1, (PushState("{a}/pushed", frame="nm"),)
            ),
            "document.querySelectorAll('iframe')[0].remove(); 1": Answer(1, (RemoveFrame("f"),)),
        }
    ),
    "frames_bfcache_plain": Acts(answers={"history.back(); 1": Answer(1, (Go(),))}),
    "frames_promote": Acts(
        answers=navigates(
            "held",
            "{b}/blank.html?title=c1",
            "{b}/blank.html?title=c4",
            "{x}/blank.html?title=c2",
            "{x}/blank.html?title=c3",
            "{a}/blank.html?title=back",
        )
    ),
    "frames_oopif_removed": Acts(
        answers={"document.getElementById('cross').remove(); 1": Answer(1, (RemoveFrame("cross"),))}
    ),
    "targets_isolated_contexts": Acts(
        served={"{a}/blank.html": Served(seconds=1)},
        answers={
            "window.open('{b}/blank.html?title=xo'); 1": Answer(1, (Popup("xo", "{b}/blank.html?title=xo"),)),
            "window.open('{a}/blank.html?title=noop', '_blank', 'noopener'); 1": Answer(
                1, (Popup("noop", "{a}/blank.html?title=noop", noopener=True),)
            ),
        },
    ),
    "popup_autoattach_stall": Acts(
        answers={
            "window.p = window.open('{a}/blank.html?title=pop'); 1": Answer(
                1, (Popup("pop", "{a}/blank.html?title=pop"),)
            )
        }
    ),
    "hermes_first_page_only": Acts(
        answers={"window.p = window.open('{a}/early.html'); 1": Answer(1, (Popup("p", "{a}/early.html"),))}
    ),
    "dialog_popup": Acts(
        answers={
            "window.p = window.open('{a}/blank.html?title=pop'); 1": Answer(
                1, (Popup("pop", "{a}/blank.html?title=pop"),)
            ),
            "p.confirm('called by opener on popup window')": Answer(
                True, (Dialog("confirm", "called by opener on popup window", frame="pop"),)
            ),
            "window.p = window.open('{a}/early.html'); 1": Answer(1, (Popup("early", "{a}/early.html"),)),
            "window.p = window.open('{a}/early.html?title=z'); 1": Answer(1, (Popup("z", "{a}/early.html?title=z"),)),
            "window.r": Answer(True),
        }
    ),
    "wire_ids": Acts(
        answers={
            "new Promise(r=>setTimeout(()=>r(1),500))": Answer(1, (Wait(0.5),)),
            "new Promise(r=>setTimeout(()=>r(1),3000))": Answer(1, (Wait(3),)),
            "'a'": Answer("a", (Wait(0.01),)),
            "'b'": Answer("b", (Wait(0.01),)),
        }
    ),
}
WORKERS = (
    Worker("dedicated", "{a}/w.js?dedicated"),
    Worker("shared", "{a}/w.js?shared", kind="shared"),
    Worker("service", "{a}/sw.js", kind="service"),
)
ACTS |= {
    "dialog_pagehide": Acts(
        answers={
            "addEventListener('pagehide', () => { alert('in pagehide'); localStorage.ph = 'returned'; }); localStorage.ph = 'blocked'; 1": Answer(
                1, (Dialog("alert", "in pagehide", at="pagehide"),)
            ),
            "localStorage.ph": Answer("returned"),
        }
    ),
    "frames_prerender": Acts(
        pages={"{a}/prerender.html": (Wait(1), Prerender("ahead", "{a}/blank.html?title=prerendered"))},
        answers={
            "location.href = '/blank.html?title=prerendered'; 1": Answer(
                1, (Navigate("{a}/blank.html?title=prerendered"),)
            )
        },
    ),
    "hermes_worker": Acts(pages={"{a}/workers.html": WORKERS}),
    "targets_workers": Acts(
        pages={
            "{a}/workers.html": (Wait(1), *WORKERS),
            "{a}/w.js?dedicated": (Wait(1), Console("worker first line ?dedicated")),
            "{a}/w.js?shared": (Wait(1), Console("worker first line ?shared")),
            "{a}/sw.js": (Wait(1), Console("sw first line")),
        },
        served={"{a}/workers.html": Served(seconds=1)},
        answers={"document.title": Answer("hello")},
    ),
    "bridge_address_space": Acts(
        answers={
            f"try{{ask('{url}')}}catch(x){{'threw '+x.name}}": Answer(200, (Request(url, sync=True, quiet=True),))
            for url in (
                "http://dlg-bridge.invalid/",
                "https://dlg-bridge.invalid/",
                "http://dlg-bridge.localhost/",
            )
        }
    ),
    "bridge_csp_blocked": Acts(
        served={"{s}/blank.html?csp=connect-src+%27self%27": Served("connect-src 'self'")}, overrides=BRIDGES
    ),
    "bridge_http_ok": Acts(
        answers={
            "document.getElementById('same').contentWindow.confirm('in same-origin iframe')": Answer(
                True, (Dialog("confirm", "in same-origin iframe", frame="same"),)
            )
        },
        overrides=BRIDGES,
    ),
    "bridge_https_mixed": Acts(
        served={"{s}/blank.html?csp=upgrade-insecure-requests": Served("upgrade-insecure-requests")},
        overrides=BRIDGES,
    ),
    "bridge_messages": Acts(
        answers={
            "window.cnt": Answer(2),
            "typeof window.cnt": Answer("undefined"),
            "/native code/.test(alert.toString())": Answer(True),
        },
        overrides=BRIDGES,
    ),
    "bridge_oopif_session": Acts(
        pages={
            "{a}/holder.html?src=http%3A%2F%2F127.0.0.1%3A{port}%2Fblank.html": (AddFrame("held", "{b}/blank.html"),)
        },
        overrides=BRIDGES,
    ),
    "bridge_pending_lost": Acts(overrides=BRIDGES),
    "bridge_two_clients": Acts(overrides=BRIDGES),
}
ACTS["hs_dialog_attach_late"] = attrs.evolve(
    ACTS["dialog_attach_late"], answers={**ACTS["dialog_attach_late"].answers, "window.v": Answer(False)}
)
ACTS |= {
    name: Acts()
    for name in (
        "dialog_basic",
        "dialog_navigate_while_open",
        "dialog_superseded",
        "dialog_two_clients",
        "endpoint_page_vs_browser",
        "frames_existing",
        "hermes_frames_many",
        "hermes_page_closed",
        "hs_dialog_superseded",
        "hs_dialog_two_clients",
        "session_parent_detach",
        "targets_discover_overlap",
        "wire_browser_close",
        "wire_http_endpoints",
        "wire_nonflatten",
        "wire_pipe",
    )
}
"""The acts of each trace, in addition to COMMON."""

NOT_COVERED = {
    "bridge_debugger": "a script that is stopped in Debugger.paused",
    "dialog_pagehide": "a page between two documents: its state then, and clients that attach to it then",
    "targets_isolated_contexts": "commands to a page opened with a URL that arrive before its navigation begins",
}
"""What the fake would need for a trace. Remove a trace from this table when it no longer deviates."""
