"""Rendering takes a limited time, can be interrupted, and says what was not shown. Needs matplotlib itself."""
from test_figures import PyplotTest, images

# An artist that draws for ever, in Python code of its own, and one that takes no notice of an exception.
SLOW = """import matplotlib.artist, time
class Slow(matplotlib.artist.Artist):
    stubborn = 0
    def draw(self, renderer):
        print('drawing', flush=True)
        while True:
            try:
                time.sleep(1000)
            except BaseException:
                if not self.stubborn: raise
                self.stubborn -= 1
def slow(figure=None):
    figure = figure or plt.figure()
    figure.add_artist(Slow())
    return figure
"""
MANY = "import numpy\nx = numpy.random.rand(%d)\n"


class Rendering(PyplotTest):
    def interrupted(self, host, code, text="up\n"):
        """An eval that is interrupted once, when it has written the text; the host's nudges do not come."""
        result = host.submit(code)
        host.pump_until_text(result, text)
        host.interrupt()
        host.nudging = False
        return result

    def test_e6_an_interrupted_eval_gives_up_a_figure_that_takes_too_long_without_the_host(self):
        host = self.practised(SLOW)
        for handler in ("", "import signal; signal.signal(signal.SIGWINCH, print)\n", "Slow.stubborn = 3\n"):
            result = host.finish(self.interrupted(host, handler + "slow(); slow()\nprint('up')\nwhile True: pass"))
            self.assertEqual((result.status, images(result)), ("interrupted", []))
            self.assertIn("[2 figures were not shown because of the interrupt; plt.show() shows them]\n", result.err)
            self.assertEqual(result.out.count("drawing"), 1)
            self.shows(host, 1, "plt.plot([1])\nNone")
            self.ok(host, "Slow.stubborn = 0")

    def test_e6_a_second_interrupt_ends_the_rendering_after_the_first(self):
        host = self.practised(SLOW)
        result = self.interrupted(host, "plt.plot([1]); slow(); plt.figure(); plt.plot([2])\nprint('up')\nwhile True: pass")
        host.pump_until_text(result, "drawing")
        host.interrupt()
        host.finish(result)
        self.assertEqual((result.status, len(images(result))), ("interrupted", 1))
        self.assertIn("[2 figures were not shown because of the interrupt", result.err)

    def test_e6_what_could_not_be_shown_is_shown_when_it_is_asked_for(self):
        host = self.pyplot("import time, matplotlib.artist\nclass Once(matplotlib.artist.Artist):\n    calls = 0\n    def draw(self, renderer):\n        Once.calls += 1\n        if Once.calls == 1: print('drawing', flush=True); time.sleep(1000)\n")
        result = self.interrupted(host, "plt.plot([1]); plt.gcf().add_artist(Once())\nplt.show()", "drawing")
        host.finish(result)
        self.assertEqual((result.status, images(result)), ("interrupted", []))
        self.assertIn("[1 figure was not shown because of the interrupt; plt.show() shows it]\n", result.err)
        self.ok(host, "Once.calls", "1")
        self.shows(host, 1, "plt.show()")
        self.shows(host, 0, "plt.show()")

    def test_o9_a_figure_may_take_ten_seconds(self):
        host = self.pyplot(SLOW + "fig = plt.figure()")
        result = self.shows(host, 1, "slow(fig)\nplt.figure(); plt.plot([1])\n6*7")
        self.assertEqual((result.err, result.value), ("[figure 1 was not shown: rendering it takes more than 10 s; savefig has no such limit]\n", "42"))
        self.shows(host, 0, "1")
        self.shows(host, 1, "fig.clear(); fig.add_subplot().plot([1])\nNone")
        self.ok(host, "int(fig.dpi)", "100")

    def test_o9_very_many_points_are_drawn_in_parts_and_look_the_same(self):
        host = self.pyplot(MANY % 50_000 + "import io\ndef whole(figure):\n    file = io.BytesIO(); figure.savefig(file, format='png', dpi=figure.dpi); return file.getvalue()")
        for plot in ("plt.plot(x, 'o')", "plt.plot(x, ',')", "plt.scatter(x, x)", "plt.pcolormesh(x.reshape(250, 200))",
                     "plt.pcolormesh(x.reshape(250, 200), edgecolors='k')", "plt.pcolormesh(x.reshape(250, 200), edgecolors='face')"):
            result = self.shows(host, 1, plot + "\nfig = plt.gcf()\nNone")
            shown = result.event("display")["data"]
            self.ok(host, "import base64; base64.b64encode(whole(fig)) == %r.encode()" % shown, "True")
        self.ok(host, "plt.rcParams['agg.path.chunksize']", "0")

    def test_e6_the_drawing_of_very_many_points_can_be_interrupted(self):
        for plot in ("plt.plot(x, 'o')", "plt.scatter(x, x, c=x)", "plt.pcolormesh(x[:4_000_000].reshape(2000, 2000))", "plt.plot(x)"):
            host = self.pyplot(MANY % 6_000_000 + "import matplotlib.artist\nclass Mark(matplotlib.artist.Artist):\n    zorder = -5\n    def draw(self, renderer): print('drawing', flush=True)\n")
            result = self.interrupted(host, plot + "\nplt.gcf().add_artist(Mark())", "drawing")
            host.finish(result)
            self.assertEqual((result.status, images(result)), ("interrupted", []), plot)
            self.assertIn("[1 figure was not shown because of the interrupt; plt.show() shows it]\n", result.err)
            self.shows(host, 1, "plt.plot([1])\nNone")

    def test_e6_what_cannot_be_given_up_on_the_way_is_not_begun_after_an_interrupt(self):
        host = self.practised(MANY % 40_000 + "big = numpy.zeros((5000, 5000))")
        for plot in ("plt.fill_between(range(len(x)), x)", "plt.fill(range(len(x)), x)", "plt.imshow(big)"):
            result = host.finish(self.interrupted(host, "plt.plot([1]); plt.figure(); %s\nprint('up')\nwhile True: pass" % plot))
            self.assertEqual((result.status, len(images(result))), ("interrupted", 1), plot)
            self.assertIn("[1 figure was not shown because of the interrupt; plt.show() shows it]\n", result.err)
        self.shows(host, 1, "plt.show()")

    def test_py11_a_process_is_forked_without_a_warning_right_after_a_figure_was_shown(self):
        host = self.pyplot("import os")
        for _ in range(5):
            result = self.shows(host, 1, "plt.plot([1]); plt.show()\npid = os.fork()\nif not pid: os._exit(0)\npid = os.waitpid(pid, 0)")
            self.assertEqual(result.err, "")

    def test_e6_an_interrupt_at_the_moment_a_rendering_begins_ends_it(self):
        host = self.pyplot(SLOW + """
import sys, os, signal
ours = sys.displayhook.__globals__
lock = ours['allocate_lock']
def hit(*args):
    ours['allocate_lock'] = lock
    os.kill(os.getpid(), signal.SIGINT)
    return lock()
""")
        result = host.finish(host.submit("slow()\nours['allocate_lock'] = hit"))
        self.assertEqual((result.status, images(result), result.out), ("interrupted", [], ""))
        self.assertIn("[1 figure was not shown because of the interrupt; plt.show() shows it]\n", result.err)
        self.ok(host, "ours['S'].show_until", "0.0")

    def test_o9_an_interrupt_that_comes_after_the_code_shows_what_was_drawn(self):
        host = self.practised("import sys\nours = sys.displayhook.__globals__")
        result = host.eval("plt.plot([1])\nours['S'].pending = True")
        self.assertEqual((result.status, len(images(result))), ("interrupted", 1), result.order)
        # As it is where the interrupt comes a moment later.
        self.ok(host, "changed = ours['changed_figures']\ndef later():\n    ours['changed_figures'] = changed\n    ours['S'].pending = True\n    ours['raise_pending']()")
        result = host.eval("plt.plot([1])\nours['changed_figures'] = later")
        self.assertEqual((result.status, images(result)), ("interrupted", []))
        self.assertIn("[1 figure was not shown because of the interrupt; plt.show() shows it]\n", result.err)
