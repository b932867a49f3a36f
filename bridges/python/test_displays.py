"""What is shown besides a value's text: images and markdown of objects that bring them."""
import base64
import struct
import zlib

from driver import BridgeTest


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, extra=b""):
    rows = zlib.compress((b"\0" + b"\0" * width) * height)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"tEXt", b"k\0" + extra) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


class Displays(BridgeTest):
    def shown(self, host, code):
        result = host.eval(code)
        self.assertEqual((result.status, result.out, result.err), ("ok", "", ""), (code, result.events))
        return result, result.event("display") or {}

    def test_o9_a_drawing_of_an_object_is_shown(self):
        host = self.start()
        result = host.eval("class D:\n    def _repr_svg_(self): return '<svg xmlns=\"x\"><g/></svg>'\n    def __repr__(self): return 'D'\nD()")
        event = result.event("display")
        self.assertEqual((event["mime"], event["data"], result.value), ("image/svg+xml", '<svg xmlns="x"><g/></svg>', "D"))
        self.assertIsNone(host.eval("class N:\n    def _repr_svg_(self): return 'none'\nN()").event("display"))

    def test_o9_an_image_comes_with_the_value(self):
        host = self.start()
        host.eval("class Png:\n    def _repr_png_(self): return data\n    def __repr__(self): return 'Png()'")
        for code in ("data = %r" % png(3, 2), "data = (data, {'width': 3})", "import base64\ndata = base64.b64encode(data[0]).decode()"):
            host.eval(code)
            result, display = self.shown(host, "Png()")
            self.assertEqual((display["mime"], result.value), ("image/png", "Png()"))
            self.assertEqual(base64.b64decode(display["data"]), png(3, 2))
            self.assertEqual([e["ev"] for e in result.events], ["display", "value", "done"])
            self.assertNotIn("ack", display)
        for code in ("data = b'GIF89a'", "data = 5", "data = None", "data = 'no base64'", "data = bytearray()"):
            host.eval(code)
            self.assertEqual(self.shown(host, "Png()")[1], {})

    def test_o9_on_the_way_it_keeps_its_place(self):
        host = self.start()
        host.eval("import sys\nclass Html:\n    def _repr_html_(self): return '<b>x</b>'\nit = Html()")
        result = host.eval("print('a')\nsys.displayhook(it)\nprint('b')")
        self.assertEqual([(e["ev"], e.get("ack")) for e in result.events], [("display", True), ("value", True), ("done", None)])
        self.assertIn("<b>x</b>", result.event("display")["data"])
        self.assertEqual((result.order[0], result.value), (("out", "a\n"), "x"))
        self.ok(host, "_ is it", "True")

    def test_o9_markdown_stands_for_the_text(self):
        host = self.start()
        host.eval("class M:\n    def __init__(self, text, own=None): self.text, self.own = text, own\n    def _repr_markdown_(self): return self.text\n"
                  "    def _repr_html_(self): return '<p>'\nclass Own(M):\n    def __repr__(self): return self.own")
        result, display = self.shown(host, "M('# Title')")
        self.assertEqual((display["mime"], display["data"], result.value), ("text/markdown", "# Title", None))
        self.assertEqual(self.shown(host, "Own('# Title\\n\\ntext', 'Report(3 pages)')")[0].value, "Report(3 pages)")
        self.assertIsNone(self.shown(host, "Own('# Title\\n\\ntext', '# Title\\n\\ntext')")[0].value)
        self.assertIsNone(self.shown(host, "Own('# Title', 'x' * 1000)")[0].value)
        for unit in ("x", "é", "☃", "😀"):
            display = self.shown(host, "M(%r * 10**5)" % unit)[1]
            self.assertLessEqual(len(display["data"].encode()), 16 << 10)
            self.assertGreater(len(display["data"].encode()), 15 << 10)
            self.assertIn("(100000 characters)", display["data"])

    def test_o9_nothing_else_is_taken_for_rich(self):
        host = self.start()
        host.eval("from unittest import mock\nclass Any:\n    def __getattr__(self, name): return lambda *a, **k: '<b>'\n    def __repr__(self): return 'Any()'\n"
                  "class Raises:\n    def _repr_png_(self): raise ValueError\n    def _repr_markdown_(self): raise SystemExit\n    def _repr_html_(self): return 5\n    def _repr_mimebundle_(self): return []\n"
                  "    def __repr__(self): return 'Raises()'\nclass Meta(type):\n    def _repr_html_(cls): return '<b>'\nclass Made(metaclass=Meta): pass\n"
                  "class Html:\n    def _repr_html_(self): return '<b>'\nclass Off(Html):\n    _repr_html_ = None\n    def __repr__(self): return 'Off()'\ninstance = Any(); instance._repr_html_ = lambda: '<b>'")
        for code in ("mock.Mock()", "mock.MagicMock()", "Any()", "instance", "Raises()", "Html", "Made", "Off()", "[Html()]", "mock", "'<b>'"):
            result, display = self.shown(host, code)
            self.assertEqual(display, {}, code)
            self.assertTrue(result.value)
        self.ok(host, "Raises()", "Raises()\n(_repr_png_ raised ValueError)\n(_repr_markdown_ raised SystemExit)")
        self.fails(host, "class K:\n    def _repr_html_(self): raise KeyboardInterrupt\nK()", "KeyboardInterrupt")

    def test_o9_an_image_that_is_too_big_is_said_so(self):
        host = self.start()
        host.eval("import sys\nsys.modules['PIL'] = None\nclass Png:\n    def _repr_png_(self): return data\n    def __repr__(self): return 'P' * 1990")
        host.eval("data = %r" % png(3, 2, b"x" * 100)[:-1] + " + bytes(2 << 20)")
        self.assertGreater(len(self.shown(host, "Png()")[1]["data"]), 2 << 20)
        result, display = self.shown(host, "data += bytes(8 << 20)\nPng()")
        self.assertEqual(display, {})
        self.assertRegex(result.value, r"\n\(its image of \d+ bytes is too big to be shown\)$")
        self.assertLessEqual(len(result.value), 2000)
