"""One list of client commands, two browsers: a real Chromium and the fake; what the fake does otherwise is its bug.

    async def test_alert_accepted(scenario):
        scenario.open("p")
        scenario.send("Runtime.evaluate", {"expression": "alert('x')"}, on="p", wait=False)
        scenario.expect("Page.javascriptDialogOpening", on="p")
        scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
        await scenario.conforms()

A scenario is a value: commands, what to wait for between them, and pages told as steps of a script. Chromium gets the
pages as HTML that does these steps, over HTTP under two host names (`{a}` and `{b}`, two sites); the fake gets the steps.

`scenario.py` has the commands, `site.py` the pages; `performing.py` does the commands on either browser; `messages.py`
makes what came back comparable; `deviations.py` compares.
"""
