"""matplotlib: figures are sent once, by the eval that made or changed them. Needs matplotlib itself."""
import base64
import os
import tempfile

import matplotlib  # noqa: F401  a Python without it cannot run these tests
from driver import BridgeTest

# Counts what is rendered, through the one door there is.
COUNT = """import matplotlib.figure
rendered = []
def _count(savefig):
    def counted(*args, **kwargs):
        rendered.append(args[0])
        return savefig(*args, **kwargs)
    return counted
matplotlib.figure.Figure.savefig = _count(matplotlib.figure.Figure.savefig)
del _count
"""
SLOW = """import matplotlib.artist, time
class Slow(matplotlib.artist.Artist):
    def draw(self, renderer):
        print('drawing', flush=True)
        time.sleep(1000)
"""


def images(result):
    """The PNGs of an eval: bytes, width, height."""
    found = []
    for event in result.events:
        if event["ev"] == "display":
            data = base64.b64decode(event["data"], validate=True)
            assert event["mime"] == "image/png" and data[:8] == b"\x89PNG\r\n\x1a\n", event
            found.append((len(data), int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")))
    return found


def notes(result):
    return [event.get("note") for event in result.events if event["ev"] == "display"]


def kinds(result):
    return [kind for kind, text in result.order if text]


class PyplotTest(BridgeTest):
    def pyplot(self, code="", env=None):
        env = dict(dict.fromkeys(("DISPLAY", "MPLBACKEND", "WAYLAND_DISPLAY"), ""), **(env or {}))
        host = self.start(env=env)
        self.shows(host, 0, "import matplotlib.pyplot as plt\n" + code)
        return host

    def practised(self, code=""):
        """A session that has drawn a figure: the first takes longer than others, which an interrupt leaves a second only."""
        host = self.pyplot()
        self.shows(host, 1, "plt.plot([1])")
        self.shows(host, 0, "plt.close('all')\n" + code)
        return host

    def shows(self, host, count, code, status="ok", **options):
        result = host.eval(code, **options)
        self.assertEqual((result.status, len(images(result))), (status, count), (code, result.order, result.event("error")))
        return result


class Figures(PyplotTest):
    def test_o9_a_figure_is_sent_once_by_the_eval_that_made_it(self):
        host = self.pyplot()
        result = self.shows(host, 1, "plt.plot([1, 2])\nprint('made')")
        self.assertEqual(images(result)[0][1:], (640, 480))
        self.assertEqual((kinds(result), result.err), (["out", "display"], ""))
        self.shows(host, 0, "1 + 1")
        self.shows(host, 1, "for i in range(60):\n    plt.plot([i])")
        self.shows(host, 2, "plt.figure(); plt.plot([1]); plt.figure(); plt.plot([2])")
        self.shows(host, 0, "x = plt.gcf().axes")

    def test_o9_a_figure_lives_on_and_is_sent_again_when_it_changes(self):
        host = self.pyplot("fig, ax = plt.subplots()\nline, = ax.plot([1])\nplt.close()")
        self.shows(host, 0, "ax.set_title('closed figures are not shown')")
        self.shows(host, 1, "fig, ax = plt.subplots()\nline, = ax.plot([1])")
        for change in ("plt.title('x')", "line.set_color('red')", "ax.text(0, 0, 'here')", "fig.set_size_inches(3, 3)", "ax.set_xlim(0, 9)"):
            self.shows(host, 1, change + "\nNone")
            self.shows(host, 0, "None")

    def test_o9_the_same_plot_made_again_is_an_image_again(self):
        host = self.pyplot()
        for _ in range(2):
            self.shows(host, 1, "plt.clf()\nplt.plot([1, 2])")

    def test_o9_drawing_and_saving_are_no_changes(self):
        host = self.pyplot()
        self.shows(host, 1, "fig, ax = plt.subplots(layout='constrained') if hasattr(plt.Figure, 'set_layout_engine') else plt.subplots(constrained_layout=True)\nax.plot([1])\nfig.canvas.draw()")
        with tempfile.TemporaryDirectory() as folder:
            for save in ("fig.savefig(%r, dpi=30)", "plt.savefig(%r)", "fig.savefig(%r, transparent=True, bbox_inches='tight', facecolor='red')"):
                for name in ("a.png", "a.pdf", "a.svg"):
                    self.shows(host, 0, save % os.path.join(folder, name))
        self.shows(host, 0, "fig.canvas.draw()")

    def test_o9_our_rendering_leaves_the_figure_as_it_was(self):
        host = self.pyplot()
        self.shows(host, 1, "fig = plt.figure(figsize=(30, 20), dpi=90)\ncanvas = fig.canvas\nplt.plot([1])\ncanvas.draw()\nbefore = bytes(canvas.buffer_rgba())\nstale = fig.stale")
        self.ok(host, "fig.dpi, fig.get_size_inches().tolist(), fig.canvas is canvas, canvas.manager.num, fig.stale == stale", "(90, [30.0, 20.0], True, 1, True)")
        self.ok(host, "bytes(fig.canvas.buffer_rgba()) == before", "True")

    def test_o9_nothing_is_rendered_for_figures_that_did_not_change(self):
        host = self.pyplot(COUNT)
        self.shows(host, 12, "for i in range(12):\n    plt.figure()\n    plt.plot([i])")
        self.ok(host, "len(rendered)", "12")
        for _ in range(3):
            self.shows(host, 0, "1 + 1")
        self.ok(host, "len(rendered)", "12")
        self.shows(host, 1, "plt.figure(3)\nplt.title('one of twelve')\nNone")
        self.ok(host, "len(rendered)", "13")

    def test_cf2_pictures_can_be_switched_off(self):
        host = self.pyplot(COUNT, env={"STEAD_FIGURES": "off"})
        for code in ("plt.plot([1, 2])", "plt.plot([1, 2]); plt.show()", "plt.gcf()"):
            self.shows(host, 0, code)
        self.shows(host, 0, "plt.plot([1]); x = input('go? ')", answers=["x\n"])
        self.assertEqual(host.eval("len(rendered), 'STEAD_FIGURES' in __import__('os').environ").value, "(0, False)")

    def test_o9_show_shows_in_order_and_does_not_block_or_warn(self):
        for display in ("", ":99"):
            host = self.pyplot(env={"DISPLAY": display})
            result = self.shows(host, 2, "print('one')\nplt.plot([1])\nplt.show()\nprint('two')\nplt.title('x')\nplt.show(block=True)\nplt.show()\nprint('three')")
            self.assertEqual(kinds(result), ["out", "display", "out", "display", "out"])
            self.assertEqual((result.out, result.err), ("one\ntwo\nthree\n", ""))
            result = self.shows(host, 1, "plt.plot([2])\nplt.gcf().show()\nprint('after')\nplt.gcf().show()")
            self.assertEqual((kinds(result), result.err), (["display", "out"], ""))
            self.shows(host, 1, "plt.figure(); plt.plot([1]); plt.show(); plt.close()")
            result = self.shows(host, 1, "plt.figure()\nfor i in range(3):\n    plt.plot([i]); plt.pause(0.001)")
            self.assertEqual(result.err, "")

    def test_o9_an_eval_that_fails_shows_its_figures_before_the_error(self):
        host = self.pyplot()
        result = self.shows(host, 1, "plt.plot([1])\n1/0", status="error")
        names = [event["ev"] for event in result.events]
        self.assertLess(names.index("display"), names.index("error"))
        self.assertIn("ZeroDivisionError", result.traceback)
        self.assertNotIn("<stead>", result.traceback)
        self.shows(host, 1, "plt.title('x')\nraise SystemExit(3)", status="error")
        self.shows(host, 0, "1")

    def test_o9_figures_come_before_a_wait_for_input(self):
        host = self.pyplot()
        for ask in ("input('name? ')", "__import__('sys').stdin.readline()"):
            result = host.submit("print('first')\nplt.figure(); plt.plot([1])\nx = %s\nplt.title('x')" % ask)
            host.wait_input(result)
            self.assertEqual(len(images(result)), 1)
            self.assertEqual(kinds(result)[:2], ["out", "display"])
            host.write("Bo\n")
            host.finish(result)
            self.assertEqual((result.status, len(images(result))), ("ok", 2))
            self.shows(host, 0, "input()", answers=["1\n"])

    def test_o9_a_figure_as_last_value_is_shown_once(self):
        host = self.pyplot()
        result = self.shows(host, 1, "fig, ax = plt.subplots()\nax.plot([1])\nfig")
        self.assertEqual(result.value, "<Figure size 640x480 with 1 Axes>")
        self.shows(host, 1, "fig")
        self.shows(host, 1, "ax.plot([2])\nplt.show()\nfig")
        self.shows(host, 0, "from matplotlib.figure import Figure\nplain = Figure(figsize=(3, 2))\nplain.add_subplot().plot([1])\nNone")
        result = self.shows(host, 1, "plain")
        self.assertEqual(images(result)[0][1:], (300, 200))
        self.shows(host, 0, "plt.figure()")

    def test_o9_images_stay_within_their_limits(self):
        host = self.pyplot()
        result = self.shows(host, 1, "fig = plt.figure(figsize=(100, 100), dpi=300)\nplt.plot([1])")
        size, width, height = images(result)[0]
        self.assertEqual(result.event("display")["note"], "scaled down from 30000×30000")
        self.assertTrue(1500 <= width <= 1568 and 1500 <= height <= 1568, (width, height))
        self.ok(host, "fig.dpi, fig.get_size_inches().tolist()", "(300, [100.0, 100.0])")
        noise = "import numpy\nplt.close('all')\nplt.figure(figsize=(%s))\nplt.axes([0, 0, 1, 1]).imshow(numpy.random.rand(1500, 1500, 3), aspect='auto')\nNone"
        for figsize in ("15, 15", "120, 120", "2, 15"):
            size, width, height = images(self.shows(host, 1, noise % figsize))[0]
            self.assertTrue(size <= 1_000_000 and max(width, height) <= 1568, (figsize, size, width, height))
        result = self.shows(host, 1, "plt.rcParams['savefig.bbox'] = 'tight'\nplt.close('all')\nplt.figure(figsize=(15, 4))\nplt.text(1.5, 0.5, 'far out')\nplt.plot([1])\nNone")
        self.assertTrue(images(result)[0][1] <= 1568)

    def test_o9_twenty_images_an_eval(self):
        host = self.pyplot("plt.rcParams['figure.max_open_warning'] = 0")
        result = self.shows(host, 20, "for i in range(23):\n    plt.figure(); plt.plot([i])")
        self.assertIn("[3 figures were not shown", result.err)
        self.shows(host, 0, "1")
        self.shows(host, 3, "plt.show()")
        result = self.shows(host, 20, "plt.close('all')\nfor i in range(21):\n    plt.figure(); plt.plot([i]); plt.show(); plt.close()")
        self.assertIn("[1 figure was not shown", result.err)
        self.assertEqual(self.shows(host, 1, "plt.plot([1])").err, "")

    def test_o9_a_figure_that_cannot_be_rendered_is_said_and_harms_nothing(self):
        host = self.pyplot()
        result = self.shows(host, 1, "plt.plot([1])\nplt.title(r'$\\frac{$')\nplt.figure(); plt.plot([2])\n6*7")
        self.assertIn("[could not render figure 1: ValueError: ", result.err)
        self.assertEqual(result.value, "42")
        self.shows(host, 0, "1")
        self.shows(host, 1, "plt.figure(1)\nplt.title('good')\nNone")
        self.shows(host, 0, "import matplotlib.artist\nclass Bad(matplotlib.artist.Artist):\n    def draw(self, renderer): raise SystemExit(5)\nplt.clf()\nplt.gcf().add_artist(Bad())\nNone")

    def test_o9_warnings_say_what_they_are_about(self):
        host = self.pyplot("import os")
        result = self.shows(host, 1, "fig = plt.figure(); plt.plot([1])\nplt.title('\\u4e2d')\nNone")
        self.assertIn("<figure 1>:1: ", result.err)
        self.assertIn("missing from", result.err)
        result = self.shows(host, 0, "fig.savefig(os.devnull, format='png')")
        self.assertIn("<py:3>:1: ", result.err)

    def test_py14_a_thread_that_changes_a_figure_is_not_blamed_on_the_next_eval(self):
        host = self.pyplot("import threading\ngo, done = threading.Event(), threading.Event()")
        self.shows(host, 1, "fig, ax = plt.subplots()\nax.plot([1])\ndef work():\n    go.wait()\n    ax.plot([2])\n    plt.figure(7).add_subplot().plot([3])\n    plt.show()\n    done.set()\nthread = threading.Thread(target=work)\nthread.start()")
        result = self.shows(host, 0, "go.set()\ndone.wait()\nthread.join()\nprint('mine')")
        self.assertEqual((result.out, result.err), ("mine\n", ""))
        self.shows(host, 0, "2")
        self.shows(host, 0, "fig.canvas.draw()")
        # Nothing is lost: asked for, or changed by an eval, they are shown.
        self.shows(host, 1, "ax.set_title('mine')\nNone")
        self.shows(host, 1, "plt.show()")

    def test_py14_what_the_eval_changes_itself_is_shown_whatever_a_thread_does_after_it(self):
        host = self.pyplot("import threading\ngo, done = threading.Event(), threading.Event()")
        self.shows(host, 1, "fig, ax = plt.subplots()\ndef work():\n    go.wait()\n    ax.plot([2])\n    done.set()\nthreading.Thread(target=work).start()")
        self.shows(host, 1, "ax.set_title('mine')\ngo.set()\ndone.wait()")
        self.shows(host, 1, "thread = threading.Thread(target=lambda: ax.plot([3]))\nthread.start()\nthread.join()")

    def test_py9_forked_children_send_nothing(self):
        host = self.pyplot("import os\nplt.ioff()")
        result = self.shows(host, 0, "pid = os.fork()\nif not pid:\n    plt.plot([1])\n    plt.show()\n    print('child', flush=True)\nelse:\n    os.waitpid(pid, 0)")
        self.assertEqual((result.out, result.err), ("child\n", ""))
        self.shows(host, 1, "plt.plot([1])\npid = os.fork()\nif not pid:\n    os._exit(0)\nos.waitpid(pid, 0)\nNone")

    def test_py12_an_interrupt_while_a_figure_is_rendered(self):
        host = self.pyplot(SLOW + "fig = plt.figure()\ndef slow():\n    fig.add_artist(Slow())\n")
        for ending in ("", "\nplt.show()", "\ninput()"):
            result = host.submit("plt.clf()\nslow()" + ending)
            host.pump_until_text(result, "drawing")
            host.interrupt()
            host.finish(result)
            self.assertEqual((result.status, images(result)), ("interrupted", []), (ending, result.order))
            self.assertNotIn("<stead>", result.traceback)
            self.shows(host, 0, "1 + 1")
        self.shows(host, 1, "plt.clf()\nplt.plot([1])")
        self.ok(host, "fig.canvas.manager.num", "1")

    def test_o9_a_figure_that_was_drawn_before_an_interrupt_is_shown_with_the_interrupted_eval(self):
        host = self.practised(COUNT + "import time")
        result = host.submit("plt.plot([1])\nprint('up')\ntime.sleep(1000)")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        host.finish(result)
        self.assertEqual((result.status, result.error, len(images(result)), result.err), ("interrupted", "KeyboardInterrupt", 1, ""))
        self.ok(host, "len(rendered)", "1")
        self.shows(host, 0, "plt.show()")

    def test_e6_a_figure_that_takes_too_long_does_not_hold_up_an_interrupted_eval(self):
        host = self.practised(SLOW + "fig = plt.figure()\ndef slow():\n    fig.add_artist(Slow())\n")
        result = host.submit("slow()\nprint('up')\nwhile True: pass")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        host.pump_until_text(result, "drawing")
        host.finish(result)
        self.assertEqual((result.status, images(result)), ("interrupted", []))
        self.assertIn("[1 figure was not shown because of the interrupt", result.err)
        self.shows(host, 1, "plt.clf()\nplt.plot([1])")

    def test_py17_agg_without_display_or_configuration_unless_the_user_chose(self):
        for env in ({}, {"DISPLAY": ":99"}):
            host = self.pyplot(env=env)
            self.ok(host, "import os, matplotlib\nmatplotlib.get_backend().lower(), os.environ.get('MPLBACKEND')", "('agg', '')")
        host = self.start(env={"MPLBACKEND": "svg"})
        self.shows(host, 1, "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()")
        self.ok(host, "plt.get_backend()", "'svg'")
        self.shows(host, 1, "import matplotlib\nmatplotlib.use('Agg')\nplt.figure(); plt.plot([1])")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "matplotlibrc"), "w") as file:
                file.write("backend: pdf\n")
            host = self.start(cwd=folder, env={"MPLBACKEND": ""})
            self.shows(host, 1, "import matplotlib.pyplot as plt\nplt.plot([1])")
            self.ok(host, "plt.get_backend()", "'pdf'")

    def test_py17_what_is_ours_does_not_show(self):
        host = self.pyplot("import inspect, pickle")
        self.ok(host, "plt.show.__name__, plt.Figure.savefig.__name__, 'def show' in inspect.getsource(plt.show)", "('show', 'savefig', True)")
        self.ok(host, "plt.show.__module__, inspect.signature(plt.Figure.show).parameters['warn'].default", "('matplotlib.pyplot', True)")
        self.shows(host, 1, "fig, ax = plt.subplots()\nax.plot([1])")
        self.shows(host, 1, "plt.close()\nagain = pickle.loads(pickle.dumps(fig))\nagain")
        self.fails(host, "fig.savefig('/nonexistent/x.png')", "FileNotFoundError")

    def test_py6_the_module_name_of_a_class_may_be_anything(self):
        host = self.pyplot()
        self.ok(host, "class Odd:\n    def __str__(self): print('ran'); return 'seaborn.x'\nclass Thing:\n    __module__ = Odd()\n    __repr__ = lambda self: 'a thing'")
        self.ok(host, "Thing()", "a thing")
