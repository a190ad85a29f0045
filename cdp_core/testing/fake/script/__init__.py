"""The results of scripts in the fake browser, computed without a JavaScript engine."""
