"""How the values of `value_list` are looked at: over MCP, each in a reply of 2,000 characters at most, none as HTML."""

import re
from pathlib import Path

# How many values one connection shows: each has its own time limit, and libraries take seconds to import.
AT_ONCE = 6
MOST = 2_000
# A tag as libraries write them. `<Table length=2>` and `<class '…'>` are reprs.
TAG = re.compile(r"</?(html|head|body|style|script|div|span|table|thead|tbody|t[rdh]|p|b|i|a|ul|li|h\d|svg|g|path|img|iframe|link|meta)(\s[^>]*)?/?>")


async def look(test, cases):
    """Runs each case in one session and checks its reply."""
    for at in range(0, len(cases), AT_ONCE):
        async with test.connect("auto") as peer:
            for case in cases[at : at + AT_ONCE]:
                with test.subTest(value=case.value):
                    await peer.call("eval", {"code": case.setup + "\nNone", "timeout_ms": 50_000})
                    check(test, case, await peer.call("eval", {"code": case.value, "timeout_ms": 50_000}))


def check(test, case, result):
    text, *others = result.content
    kinds = [block.type for block in others]
    test.assertLessEqual(len(text.text), MOST, text.text)
    test.assertIsNone(TAG.search(text.text), text.text)
    for said in case.says:
        test.assertIn(said, text.text)
    page = re.search(r"^\[html: [\d.]+ (?:bytes|kB|MB), (\S+\.html)\]$", text.text, re.MULTILINE)
    if page is not None:
        test.assertIn("<", Path(page[1]).read_text()[:2000], "the page is in its file")
    shown = {"picture"} if "image" in kinds else set()
    shown |= {"page"} if page else set()
    if case.shows:
        test.assertTrue(shown & set(case.shows.split(" or ")), (shown, text.text))
        test.assertLessEqual(shown, set(case.shows.split(" or ")), text.text)
    else:
        test.assertNotIn("page", shown, text.text)
