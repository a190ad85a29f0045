"""Strategies that several laws of the supervisor share: requests, policies, profiles and seeds."""

from __future__ import annotations

from hypothesis import strategies as st

from cdp_core.testing.fake.world import PROFILES

SEED = st.integers(0, 2**32)
PROFILE = st.sampled_from(PROFILES)
POLICY = st.sampled_from(["must_respond", "auto_accept", "auto_dismiss", {"alert": "auto_accept"}])
URL = st.sampled_from(["https://shop.example/", "https://shop.example/2", "https://ads.example/1", "about:blank"])
RANK = st.integers(0, 3)
ASKS = st.lists(
    st.one_of(
        st.builds(lambda action, rank: {"respond": action, "rank": rank}, st.sampled_from(["accept", "dismiss"]), RANK),
        st.builds(lambda url, rank: {"call": "Page.navigate", "params": {"url": url}, "page": rank}, URL, RANK),
        st.builds(
            lambda method, rank: {"call": method, "params": {}, "page": rank},
            st.sampled_from(["Page.reload", "Page.close", "Page.getFrameTree"]),
            RANK,
        ),
        st.builds(
            lambda expression, rank: {"call": "Runtime.evaluate", "params": {"expression": expression}, "frame": rank},
            st.sampled_from(["act()", "ask()", "1+1"]),
            RANK,
        ),
        st.builds(
            lambda remedy, rank: {"recover": remedy, "page": rank},
            st.sampled_from(["same_document", "navigate", "reload", "close"]),
            RANK,
        ),
        st.builds(lambda policy: {"policy": policy}, st.sampled_from(["must_respond", "auto_accept"])),
        st.just({"await": 1}),
    ),
    max_size=3,
)
