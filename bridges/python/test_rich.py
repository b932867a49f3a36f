"""What stands for a value: its repr where that speaks, else the best of what its class offers; HTML only as text and as a file."""
import os
import tempfile

from driver import BridgeTest

# A class whose rich methods are given by name, and which counts what is called.
MAKE = """
called = []
def make(own=None, **forms):
    space = {}
    for name, form in forms.items():
        def method(self, _name=name, _form=form, **options):
            called.append(_name)
            if isinstance(_form, BaseException): raise _form
            return _form
        space['_repr_%s_' % name] = method
    if own is not None: space['__repr__'] = lambda self: own
    return type('Thing', (), space)()
"""
TABLE = "<table><thead><tr><th>city</th><th>n</th></tr></thead><tbody><tr><td>Rome</td><td>1</td></tr><tr><td>Oslo</td><td>22</td></tr></tbody></table>"


class Rich(BridgeTest):
    def made(self):
        host = self.start()
        self.ok(host, MAKE)
        return host

    def look(self, host, code):
        """The text and the displays of the last value."""
        result = host.eval(code)
        self.assertEqual((result.status, result.out, result.err), ("ok", "", ""), (code, result.events))
        displays = [(event["mime"], event["data"]) for event in result.events if event["ev"] == "display"]
        self.assertLessEqual(len(result.value or ""), 2000)
        self.assertNotRegex(result.value or "", "<(div|table|style|b|td)[ >]")
        return result.value, displays

    def test_o9_where_the_repr_speaks_no_page_is_asked_for(self):
        host = self.made()
        self.assertEqual(self.look(host, "make('Model(a=1)', html='<b>x</b>', latex='$x$', json={}, mimebundle={'text/html': '<b>'})"), ("Model(a=1)", []))
        self.ok(host, "called", "[]")
        self.assertEqual(self.look(host, "make('LinearRegression()', html='<style>' + 'x' * 50000 + '</style>')"), ("LinearRegression()", []))

    def test_o9_a_repr_of_class_and_address_says_nothing(self):
        host = self.made()
        for own in ("<a.B object at 0x7f00>", "<B object>", "<a.b.B at 0x7F00>", "B(...)", "alt.Chart(...)", "figure(id='p1', ...)", " ", "<f.<locals>.B object at 0x1>"):
            self.assertEqual(self.look(host, "make(%r, latex='$x^2$')" % own), ("$x^2$", []), own)
        for own in ("<B 3 at 0x7f00>", "B()", "B(a=1)", "<B>", "<a b object at 0x1>", "id=3, ...)", "<B object at 0xzz>", "<POINT (1 1)>", "a\\n"):
            self.assertEqual(self.look(host, "make(%r, latex='$x^2$')" % own)[0], own, own)

    def test_o9_the_first_form_that_says_something_is_shown(self):
        host = self.made()
        text, displays = self.look(host, "make(html=%r)" % TABLE)
        self.assertEqual(text, "city   n\nRome   1\nOslo  22")
        self.assertEqual([mime for mime, _ in displays], ["text/html"])
        self.assertIn(TABLE, displays[0][1])
        self.assertIn('charset="utf-8"', displays[0][1])
        for forms, text in (
            ("mimebundle={'text/plain': 'the text', 'text/html': '<b>'}, html='<b>'", "the text"),
            ("mimebundle={'text/plain': '\\x1b[1;31mred\\x1b[0m table\\n'}", "red table"),
            ("mimebundle=({'text/plain': 'with metadata'}, {})", "with metadata"),
            ("mimebundle={'text/plain': '<a.B object at 0x1>', 'text/latex': '$y$'}", "$y$"),
            ("json={'a': [1, 2]}, html='<b>x</b>'", "{'a': [1, 2]}"),
            ("latex='$x$', json={}, html='<b>x</b>'", "$x$"),
        ):
            self.assertEqual(self.look(host, "make(%s)" % forms), (text, []), forms)
        self.assertEqual(self.look(host, "make(markdown='# T', latex='$x$')"), (None, [("text/markdown", "# T")]))
        self.ok(host, "class S:\n    def _repr_html_(self): return '<style>x</style>'\n    def __str__(self): return 'S with 3 nodes'")
        text, displays = self.look(host, "S()")
        self.assertEqual((text, len(displays)), ("S with 3 nodes", 1))

    def test_o9_a_long_repr_makes_way_for_a_table(self):
        host = self.made()
        text, displays = self.look(host, "make('T(' + 'x' * 9000 + ')', html=%r)" % TABLE)
        self.assertEqual((text, len(displays)), ("city   n\nRome   1\nOslo  22", 1))
        self.assertEqual(self.look(host, "make('T(%s)' % ('x' * 9000), html='<svg></svg>')")[1], [])
        self.ok(host, "import dataclasses\n@dataclasses.dataclass\nclass G:\n    rows: list\n    def _repr_html_(self): return %r" % TABLE)
        self.assertEqual(self.look(host, "G([1])"), ("G(rows=[1])", []))
        self.assertEqual(self.look(host, "G(list(range(9000)))")[0], "city   n\nRome   1\nOslo  22")

    def test_o9_a_form_that_fails_harms_nothing_and_is_said(self):
        host = self.made()
        self.assertEqual(self.look(host, "make('R', png=ValueError('no  way'))"), ("R\n(_repr_png_ raised ValueError: no way)", []))
        self.assertEqual(self.look(host, "make('R', png=NotImplementedError())"), ("R", []))
        self.assertRegex(self.look(host, "make(html=ValueError(), latex=5, json=SystemExit(3))")[0],
                         r"^<__main__.Thing object at 0x\w+>\n\(_repr_json_ raised SystemExit: 3\)\n\(_repr_html_ raised ValueError\)$")
        for wrong in ("html=5", "html=b'<b>'", "html=None", "html=['<b>']", "mimebundle=5", "mimebundle={'text/html': 5}", "mimebundle={5: 5}", "latex={}", "svg='none'", "png=b'x'"):
            text, displays = self.look(host, "make(%s)" % wrong)
            self.assertTrue(text.startswith("<__main__.Thing object at 0x"), (wrong, text))
            self.assertEqual(displays, [])
        text, displays = self.look(host, "make(html='<p>word ' * 12_500_000)")
        self.assertIn("(its HTML of 100000000 characters is too long to be kept)", text)
        self.assertEqual(displays, [])
        self.assertTrue(text.startswith("word\nword\n"), text[:100])
        self.ok(host, "1", "1")

    def test_o9_a_slow_form_is_interrupted(self):
        host = self.start()
        host.eval("class Slow:\n    def _repr_html_(self):\n        print('up', flush=True)\n        while True: pass")
        result = host.submit("Slow()")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.ok(host, "1", "1")

    def test_py16_fields_stand_for_an_address(self):
        host = self.made()
        self.ok(host, """
class A:
    def __init__(self): self.x, self.y, self._z = 1, [1, 2], 3
    @property
    def costly(self): called.append('property')
    def __getattr__(self, name): called.append(name); raise AttributeError(name)
    def __getattribute__(self, name): called.append(name); return object.__getattribute__(self, name)
class Slots:
    __slots__ = ('a', 'b', '_c')
    def __init__(self): self.a = self._c = 1
class Child(Slots):
    def __init__(self): Slots.__init__(self); self.d = 2
class Own:
    def __str__(self): return 'my words'
class Loop:
    def __init__(self): self.me = self
class Big:
    def __init__(self):
        for i in range(500): setattr(self, 'f%d' % i, 'x' * 100)
class Bad:
    def __init__(self): self.ok, self.bad = 1, BadRepr()
class BadRepr:
    def __repr__(self): raise ValueError('no')
class DictIsNone:
    __dict__ = property(lambda self: called.append('dict'))
a = A()
called.clear()
""")
        self.assertEqual(self.look(host, "a"), ("<A: x=1, y=[1, 2]>", []))
        self.ok(host, "called", "[]")
        self.assertEqual(self.look(host, "Slots()")[0], "<Slots: a=1>")
        self.assertEqual(self.look(host, "Child()")[0], "<Child: d=2, a=1>")
        self.assertEqual(self.look(host, "Own()")[0], "my words")
        self.assertRegex(self.look(host, "Loop()")[0], "^<Loop: me=<__main__.Loop object at 0x")
        self.assertRegex(self.look(host, "Big()")[0], r"^<Big: f0='x+', f1=.*…> \(500 fields\)$")
        self.assertEqual(self.look(host, "Bad()")[0], "<Bad: ok=1, bad=<BadRepr object, repr raised ValueError: no>>")
        for code in ("object()", "type('E', (), {})()", "DictIsNone()", "map(str, [])"):
            self.assertRegex(self.look(host, code)[0], "^<[^:]* object at 0x")
        self.ok(host, "called", "[]")

    def test_o8_what_is_cut_leaves_room_for_the_reply(self):
        host = self.made()
        for code in ("list(range(10**5))", "'x' * 10**5", "{i: 'y' * 50 for i in range(1000)}", "make('z' * 10**5)", "make(latex='q' * 10**5)"):
            self.assertLessEqual(len(self.look(host, code)[0]), 1900, code)
        self.assertEqual(len(self.look(host, "'x' * 1998")[0]), 2000)


class HtmlText(BridgeTest):
    """Traps of turning HTML into text, each of which was met."""

    def text(self, host, html):
        result = host.eval("H(%s)" % html)
        self.assertEqual(result.status, "ok", result.events)
        return result.value

    def test_o9_a_table_whose_cells_claim_any_number_of_columns_is_cut(self):
        host = self.start()
        rows = "<tr><td>x</td></tr>" * 300
        self.ok(host, "class Page:\n    def __repr__(self): return '<Page object at 0x1>'\n    def _repr_html_(self): return %r"
                % ("<table><tr>" + "<td colspan=100>a</td>" * 300 + "</tr>" + rows + "</table>"))
        result = host.eval("Page()")
        self.assertEqual(result.status, "ok")
        self.assertLessEqual(len(result.value), 2000)

    def test_o9_html_as_text(self):
        host = self.start()
        self.ok(host, "class H:\n    __slots__ = ('_html',)\n    def __init__(self, html): self._html = html\n    def _repr_html_(self): return self._html\n    def __repr__(self): return 'H(...)'")
        for html, text in (
            ("'<h1>Title</h1><p>one <b>two</b>\\n three</p>four<br>five'", "Title\none two three\nfour\nfive"),
            ("'a &lt; b &amp; c &eacute;'", "a < b & c é"),
            ("'<ul><li>a<li>b</ul>'", "- a\n- b"),
            ("'<pre>x = 1\\n  y\\n</pre>'", "x = 1\n  y"),
            ("'<style>p{}</style><script>1<2</script><svg><text>no</text></svg><head><title>t</title></head><iframe>no</iframe>yes'", "yes"),
            ("'<STYLE>p{}</STYLE>yes<!-- no -->'", "yes"),
            # What comes first does not use up what is read.
            ("'<style>' + 'x' * 10**5 + '</style>' + '<img src=\"data:' + 'y' * 10**5 + '\" alt=\"picture\"> yes'", "[picture] yes"),
            ("'<iframe srcdoc=\"' + 'y' * 10**5 + '\"></iframe>yes'", "yes"),
            # A table that the limit cuts, cells that cover others, tables within tables.
            ("'<table><tr><th>a<th>b<tr><td>1<td>2'", "a  b\n1  2"),
            ("'<table><tr><td rowspan=2>g<td>1<tr><td>2<tr><td>h<td>3</table>'", "g  1\n   2\nh  3"),
            ("'<table><tr><th colspan=2>wide<th>z<tr><td>1<td>2<td>3</table>'", "wide     z\n   1  2  3"),
            ("'<table><tr><td><table><tr><td>in<td>ner</table><td>out</table>'", "in ner  out"),
            ("'<table><tr><td>' + 'x' * 99 + '</table>'", "x" * 39 + "…"),
            ("'<table><tr><td colspan=x rowspan=99999999>a</table>'", "a"),
            # Only what a notebook would say that does not run scripts.
            ("'<div>Make this Notebook Trusted to load map: File -> Trust Notebook</div>'", "H(...)"),
            ("'<style><style>' * 10**5", "H(...)"),
            ("'<svg>' * 10**5 + 'x'", "H(...)"),
            ("'<style></style>' * 10**4 + 'end'", "end"),
            ("'</table></td></tr></pre></iframe>x'", "x"),
        ):
            self.assertEqual(self.text(host, html), text, html)
        long = self.text(host, "'<table>' + ''.join('<tr><td>row %d<td>%d' % (i, i) for i in range(10**4))")
        self.assertRegex(long, r"^row 0 +0\nrow 1 +1\n")
        self.assertRegex(long, r"\n… \(\d+ more lines\)$")
        self.assertLessEqual(len(long), 1900)

    def test_o9_a_module_of_the_users_in_the_place_of_the_parser(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "html.py"), "w") as file:
                file.write("mine = 1")
            host = self.start(cwd=folder)
            self.ok(host, "class H:\n    def _repr_html_(self): return '<b>x</b>'")
            self.ok(host, "H()", "x")
            self.ok(host, "import html\nhtml.mine", "1")
            host = self.start(cwd=folder)
            self.ok(host, "import html\nclass H:\n    def _repr_html_(self): return '<b>x</b>'\nH()", "x")
            self.ok(host, "import html\nhtml.mine", "1")


class Display(BridgeTest):
    """IPython's display(), met as it is imported; here with a stand-in that has the same names."""

    SOURCE = """
def _new_id(): return '7'
def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None, raw=False, clear=False, **kwargs):
    "Display a Python object in all frontends."
    print('original', *objs)
def update_display(obj, *, display_id, **kwargs):
    kwargs['update'] = True
    display(obj, display_id=display_id, **kwargs)
def publish_display_data(data, metadata=None, *, transient=None, **kwargs):
    print('published', data)
class DisplayHandle:
    def __init__(self, display_id=None): self.display_id = display_id or _new_id()
    def update(self, obj, **kwargs): update_display(obj, display_id=self.display_id, **kwargs)
"""

    def test_o9_display_shows_in_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            core = os.path.join(folder, "IPython", "core")
            os.makedirs(core)
            for name, source in (("__init__", ""), ("core/__init__", ""), ("core/display_functions", self.SOURCE),
                                 ("core/interactiveshell", "class InteractiveShell:\n    on = False\n    initialized = classmethod(lambda cls: cls.on)"),
                                 ("display", "from IPython.core.display_functions import *")):
                with open(os.path.join(folder, "IPython", name + ".py"), "w") as file:
                    file.write(source)
            host = self.start(cwd=folder)
            self.ok(host, "from IPython.display import display, publish_display_data\nclass H:\n    def _repr_html_(self): return '<b>x</b>'\n_ = 'mine'")
            result = host.eval("print('a')\ndisplay(H(), 5, None, 'text', [1])\nprint('b')")
            shown = [(event["mime"], event["data"], event["ack"]) for event in result.events if event["ev"] == "display"]
            self.assertEqual([one[:2] for one in shown[1:]], [("text/plain", "x"), ("text/plain", "5"), ("text/plain", "None"), ("text/plain", "'text'"), ("text/plain", "[1]")])
            self.assertEqual((shown[0][0], {one[2] for one in shown}, result.value, result.out), ("text/html", {True}, None, "a\nb\n"))
            result = host.eval("h = display(1, display_id=True)\nh.update(2)\ndisplay({'text/plain': 'raw', 'text/html': '<b>'}, raw=True)\npublish_display_data({'text/plain': 'pub'})")
            self.assertEqual([event["data"] for event in result.events if event["ev"] == "display"], ["1", "2", "raw", "pub"])
            self.ok(host, "display.__name__, display.__doc__[:7], display()", "('display', 'Display', None)")
            self.ok(host, "import threading\nt = threading.Thread(target=display, args=(H(),))\nt.start(); t.join()", None, "x\n")
            self.ok(host, "_", "'mine'")
            # Where the user runs IPython itself, it shows.
            self.ok(host, "import IPython.core.interactiveshell as shell\nshell.InteractiveShell.on = True\ndisplay(5)", None, "original 5\n")

    def test_py6_without_ipython_there_is_no_display(self):
        self.fails(self.start(), "display(1)", "NameError")

class Hostile(BridgeTest):
    made, look = Rich.made, Rich.look

    def test_o9_hostile_results_of_rich_methods_fail_no_eval(self):
        host = self.made()
        self.ok(host, """
class Hostile:
    @property
    def __class__(self): raise SystemExit('class')
class Dict(dict):
    def _no(self, *args): raise SystemExit('dict')
    get = items = keys = __getitem__ = __contains__ = __iter__ = __len__ = _no
class Text(str):
    def _no(self, *args): raise SystemExit('str')
    strip = lower = __len__ = __contains__ = __getitem__ = __str__ = split = rstrip = _no
class Pair(tuple):
    def __len__(self): raise SystemExit('tuple')
    __getitem__ = __len__
class Bytes(bytes):
    def startswith(self, *args): raise SystemExit('bytes')
table = %r
""" % TABLE)
        for form in ("html", "markdown", "latex", "json", "svg", "png", "jpeg", "mimebundle"):
            self.look(host, "make(%s=Hostile())" % form)
            self.look(host, "make('x' * 9000, %s=Hostile())" % form)
        text = "city   n\nRome   1\nOslo  22"
        self.assertEqual(self.look(host, "make(html=Text(table))")[0], text)
        self.assertEqual(self.look(host, "make('x' * 9000, html=Text(table))")[0], text)
        self.assertEqual(self.look(host, "make(mimebundle=Dict({'text/plain': Text('the text'), 5: 6}))")[0], "the text")
        self.assertEqual(self.look(host, "make(mimebundle=Pair(({'text/html': Text(table)}, {})))")[0], text)
        self.assertEqual(self.look(host, "make(latex=Text('$x$'))")[0], "$x$")
        self.assertEqual(self.look(host, "make(json=Dict(a=1))")[0], "{'a': 1}")
        self.look(host, "make(png=Bytes(b'no picture'))")
        self.look(host, "make(mimebundle=Dict({'text/html': Hostile()}))")

    def test_o9_a_slow_form_is_given_up(self):
        host = self.made()
        result = host.eval("import time\nclass Slow:\n    def _repr_png_(self):\n        while True:\n            try: time.sleep(1000)\n            except Exception: pass\n    def _repr_html_(self): return %r\nSlow()" % TABLE)
        self.assertEqual((result.status, "_repr_png_ was given up after 10 s" in result.value), ("ok", True), result.value)
        self.ok(host, "1+1", "2")

    def test_e6_a_slow_form_can_be_interrupted(self):
        host = self.made()
        result = host.submit("class Slow:\n    def _repr_html_(self):\n        print('up', flush=True)\n        while True: pass\nSlow()")
        host.pump_until_text(result, "up")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.ok(host, "1+1", "2")
