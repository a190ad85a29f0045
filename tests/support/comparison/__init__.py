"""Conformance: run one list of client commands on a real Chromium and on the fake, and compare.

    async def test_alert_accepted(scenario):
        scenario.open("p")
        scenario.send("Runtime.evaluate", {"expression": "alert('x')"}, on="p", wait=False)
        scenario.expect("Page.javascriptDialogOpening", on="p")
        scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
        await scenario.conforms()

A scenario is a value: commands, what to wait for between them, and pages as steps of a script. Chromium gets the
pages as HTML that performs these steps, over HTTP under two host names (`{a}` and `{b}`, two sites); the fake gets
the steps. Whatever the fake does differently is a bug of the fake.

`scenario.py` contains the commands, `site.py` the pages; `performing.py` performs the commands on either browser;
`messages.py` makes the received messages comparable; `deviations.py` compares them.
"""
