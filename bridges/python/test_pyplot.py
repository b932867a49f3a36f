"""pyplot as in notebooks: what was shown is not drawn over, what is held is shown again. Needs matplotlib itself."""
import os
import tempfile

from test_figures import COUNT, PyplotTest, images, kinds, notes

LINES = "[len(axes.lines) for axes in fig.axes]"
# A figure of the next eval is the one that was shown before, to be looked at.
SEEN = """import matplotlib.figure
sent = []
def _count(savefig):
    def counted(figure, *args, **kwargs):
        sent.append(sum(len(axes.lines) for axes in figure.axes))
        return savefig(figure, *args, **kwargs)
    return counted
matplotlib.figure.Figure.savefig = _count(matplotlib.figure.Figure.savefig)
del _count
"""


class Pyplot(PyplotTest):
    def lines(self, host, expected):
        """The lines in each picture that was sent since the last look."""
        self.ok(host, "sent[:], sent.clear()", "(%s, None)" % (expected,))

    def test_o9_the_plot_after_one_that_was_shown_begins_a_new_figure(self):
        host = self.pyplot(SEEN)
        self.shows(host, 1, "plt.plot([1, 2, 3]); plt.show()")
        self.shows(host, 1, "plt.plot([3, 2, 1])")
        self.shows(host, 2, "plt.plot([1]); plt.show(); plt.plot([2])")
        self.shows(host, 1, "plt.plot([1])\n1/0", status="error")
        self.shows(host, 1, "plt.plot([1])")
        self.lines(host, [1] * 6)
        self.shows(host, 3, "for i in range(3):\n    plt.plot([i]); plt.plot([i]); plt.show()")
        self.lines(host, [2] * 3)
        self.ok(host, "plt.get_fignums()", "[]")
        self.shows(host, 1, "plt.plot([1]); plt.gcf().show(); plt.gcf().show()")

    def test_o9_numbers_and_names_of_earlier_evals_are_new_figures(self):
        host = self.pyplot(SEEN)
        for _ in range(2):
            self.shows(host, 2, "plt.figure(1); plt.plot([1]); plt.figure('loss'); plt.plot([2])\nNone")
        self.lines(host, [1] * 4)
        self.shows(host, 1, "plt.figure('a'); plt.plot([1]); plt.figure('b'); plt.figure('a'); plt.plot([2])\nNone")
        self.lines(host, [2])

    def test_o9_a_figure_that_is_held_is_shown_again_when_it_changes(self):
        host = self.pyplot("import matplotlib, copy, pickle")
        self.shows(host, 1, "fig, ax = plt.subplots()\nline, = ax.plot([1, 2])")
        self.shows(host, 1, "plt.plot([9])")
        for change in ("line.set_ydata([2, 1])", "ax.twinx().plot([3])", "ax.cla()", "fig.colorbar(ax.imshow([[1, 2]]))", "fig.set_dpi(50)",
                       "fig.subplots_adjust(left=0.3)", "fig.suptitle('all')", "fig.axes[0].set_visible(False)"):
            self.shows(host, 1, change + "\nNone")
            self.shows(host, 0, "fig.canvas.draw()")
        self.shows(host, 2, "ax.plot([1]); plt.plot([2])\nNone")
        self.shows(host, 0, "fig.clear()")
        self.shows(host, 1, "fig.add_subplot().plot([1])")
        # It can be made the current one again, beside others that have its number by now.
        self.shows(host, 2, "plt.figure(); plt.plot([1]); plt.figure(fig); plt.plot([2])\nn = plt.get_fignums(), len(fig.axes[0].lines)")
        self.ok(host, "n", "([1, 2], 2)")
        self.shows(host, 2, "plt.plot([3]); plt.sca(fig.axes[0]); plt.plot([4])\nn = plt.get_fignums(), len(fig.axes[0].lines), fig.number == fig.canvas.manager.num")
        self.ok(host, "n", "([1, 2], 3, True)")
        self.shows(host, 1, "plt.figure(fig); plt.show()")
        self.shows(host, 0, "plt.figure(fig)\nNone")

    def test_o9_figures_that_were_closed_are_dismissed(self):
        host = self.pyplot()
        for close in ("plt.close()", "plt.close(fig)", "plt.close('all')", "plt.close(1)", "plt.close('name')"):
            self.shows(host, 1, "fig, ax = plt.subplots(num='name')\nax.plot([1])" if "name" in close else "fig, ax = plt.subplots()\nax.plot([1])")
            self.shows(host, 0, close)
            self.shows(host, 0, "ax.set_title('closed')\nNone")
            self.shows(host, 1, "fig")
            self.shows(host, 0, "plt.show()")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.png")
            result = self.shows(host, 0, "plt.plot([1]); plt.savefig(%r); plt.close()" % path)
            self.assertEqual(result.err, "")
            self.assertTrue(os.path.getsize(path) > 5000)

    def test_o9_a_figure_without_anything_stays_open_until_it_has(self):
        host = self.pyplot(SEEN)
        self.shows(host, 0, "fig = plt.figure(figsize=(3, 2))")
        self.shows(host, 0, "1 + 1")
        result = self.shows(host, 1, "plt.plot([1])\nNone")
        self.assertEqual(images(result)[0][1:], (300, 200))
        self.shows(host, 0, "fig = plt.figure()")
        self.shows(host, 1, "ax = fig.add_subplot()")
        self.shows(host, 1, "ax.plot([1])\nNone")
        self.lines(host, [1, 0, 1])

    def test_o9_savefig_after_the_figure_was_shown_saves_that_one(self):
        host = self.pyplot("import io\ndef save(call):\n    file = io.BytesIO(); call(file)\n    return len(file.getvalue())")
        for made in ("plt.plot([1, 2])\nNone", "fig, ax = plt.subplots()\nax.plot([1, 2])\nNone", "plt.plot([1, 2]); plt.show()"):
            for call in ("plt.savefig", "lambda file: plt.gcf().savefig(file)", "lambda file: (plt.tight_layout(), plt.savefig(file))"):
                ran = self.shows(host, 1, made)
                result = self.ok(host, "save(%s) > 10_000" % call, "True")
                self.assertIn("[no figure is open: saved the last one, of py:%d]\n" % (host.count - 1), result.err, (made, call))
                self.assertEqual(notes(ran), [None])
        result = self.shows(host, 1, "plt.plot([1, 2]); plt.show(); n = save(plt.savefig)")
        self.assertIn("saved the last one", result.err)
        # One that is open is saved as ever, with something in it or not.
        self.assertEqual(self.ok(host, "plt.figure(); save(plt.savefig) < 5000", "True").err, "")
        self.assertEqual(self.shows(host, 1, "plt.plot([1, 2]); n = save(plt.savefig)").err, "")
        # A figure that was closed since is newer than the last one that was shown.
        self.ok(host, "plt.plot([1]); plt.close()\nsave(plt.savefig) < 5000", "True")
        self.shows(host, 1, "plt.close('all'); plt.plot([1])")
        self.ok(host, "plt.close('all'); save(plt.savefig) < 5000", "True")

    def test_o9_the_last_figure_in_the_order_of_pyplot_is_the_one_that_is_saved(self):
        host = self.pyplot("import io")
        self.shows(host, 2, "a = plt.figure(figsize=(2, 1)); plt.plot([1]); b = plt.figure(); plt.plot([1]); plt.figure(a)\nNone")
        self.ok(host, "file = io.BytesIO(); plt.savefig(file, format='png')\nfile.getvalue()[16:24].hex()", "'%08x%08x'" % (200, 100))

    def test_o9_more_figures_than_twenty_bring_a_note_and_no_warning(self):
        host = self.pyplot("import matplotlib")
        result = self.shows(host, 20, "for i in range(25):\n    plt.figure(); plt.plot([i])")
        self.assertEqual(result.err, "[5 figures were not shown: an eval sends 20 images at most; plt.show() shows them]\n")
        self.shows(host, 0, "1")
        self.assertEqual(self.shows(host, 5, "plt.show()").err, "")
        self.shows(host, 0, "plt.show()")
        self.assertEqual(self.shows(host, 20, "plt.rcdefaults()\nfor i in range(21):\n    plt.plot([i]); plt.show()").err.count("\n"), 1)
        self.shows(host, 1, "plt.plot([1]); plt.show()")
        self.shows(host, 0, "plt.show()")
        result = self.shows(host, 3, "plt.rcParams['figure.max_open_warning'] = 2\nfor i in range(3):\n    plt.figure(); plt.plot([i])")
        self.assertIn("More than 2 figures", result.err)

    def test_o9_copies_are_shown_as_last_value_only(self):
        host = self.pyplot("import copy, pickle")
        self.shows(host, 1, "fig, ax = plt.subplots()\nax.plot([1])\ntwin = copy.deepcopy(fig)")
        self.shows(host, 0, "again = pickle.loads(pickle.dumps(fig)); other = copy.deepcopy(fig)")
        self.shows(host, 1, "again")
        self.shows(host, 1, "plt.plot([1])")
        self.shows(host, 2, "fig, ax = plt.subplots()\nax.plot([1])\ntwin = copy.deepcopy(fig)\nplt.show()")

    def test_o9_an_animation_shows_its_first_frame_and_how_to_save_it(self):
        host = self.pyplot("import os\nfrom matplotlib.animation import FuncAnimation, ArtistAnimation\ndrawn = []\ndef update(i):\n    drawn.append(i)\n    line.set_data(range(i + 2), range(i + 2))\n    return line,\ndef make(**more):\n    global line\n    fig, ax = plt.subplots()\n    line, = ax.plot([], [])\n    return FuncAnimation(fig, update, frames=3, **more)")
        for more in ("", "blit=True", "init_func=lambda: [line]", "init_func=lambda: [line], blit=True"):
            result = self.shows(host, 1, "drawn.clear()\nfilm = make(%s)" % more)
            self.assertEqual(notes(result), ["the first frame of an animation; film.save('film.gif', writer='pillow') saves all of it"])
            self.assertEqual(result.err, "")
            self.ok(host, "{*drawn}, len(line.get_xdata())", "({0}, 2)")
            self.shows(host, 0, "1")
            self.shows(host, 1, "film")
        with tempfile.TemporaryDirectory() as folder:
            self.shows(host, 0, "os.chdir(%r)\nfilm.save('film.gif', writer='pillow')" % folder)
            self.assertTrue(os.path.getsize(os.path.join(folder, "film.gif")) > 1000)
        result = self.shows(host, 1, "film = None; films = [make()]")
        self.assertIn("keep it in a variable", notes(result)[0])
        result = self.shows(host, 1, "fig, ax = plt.subplots()\nfilm = ArtistAnimation(fig, [ax.plot([1, 2]), ax.plot([2, 1])])\nNone")
        self.ok(host, "[line.get_visible() for line in ax.lines]", "[True, False]")
        result = self.shows(host, 1, "def update(i): 1/0\nfilm = make()")
        self.assertIn("[could not draw the first frame of the animation: ZeroDivisionError: ", result.err)

    def test_o9_what_is_waited_for_does_not_end_the_figure(self):
        host = self.pyplot(SEEN)
        self.shows(host, 2, "plt.plot([1]); x = input(); plt.plot([2])\nNone", answers=["a\n"])
        self.lines(host, [1, 2])
        self.shows(host, 1, "plt.plot([1]); x = input()", answers=["a\n"])
        self.shows(host, 1, "plt.plot([3])\nNone")
        self.lines(host, [1, 1])

    def test_o9_pauses_interactive_mode_and_styles(self):
        host = self.pyplot(SEEN)
        self.shows(host, 1, "plt.ion()\nfor i in range(3):\n    plt.plot([i]); plt.draw(); plt.pause(0.001)")
        self.shows(host, 1, "plt.ioff()\nplt.plot([1])")
        self.lines(host, [3, 1])
        self.shows(host, 1, "with plt.style.context('ggplot'), plt.rc_context({'lines.linewidth': 5}):\n    plt.plot([1])")
        self.shows(host, 1, "fig, axes = plt.subplots(2, 2)\nfor ax in axes.flat: ax.imshow([[1, 2]], cmap='hot')\nfig.colorbar(axes[0, 0].images[0], ax=axes)\nNone")

    def test_o9_a_view_of_three_dimensions_that_is_turned_is_shown_again(self):
        host = self.pyplot()
        self.shows(host, 1, "ax = plt.figure().add_subplot(projection='3d')\nax.scatter([1], [2], [3])\nNone")
        self.shows(host, 1, "ax.view_init(10, 20)")
        self.shows(host, 0, "ax.elev, ax.azim")

    def test_py17_a_backend_with_windows_needs_a_display(self):
        host = self.pyplot("import matplotlib")
        for code in ("matplotlib.use('TkAgg')", "plt.switch_backend('Qt5Agg')"):
            result = self.shows(host, 1, code + "; plt.plot([1]); plt.show()")
            self.assertIn("[there is no display for %s: figures are shown here instead]\n" % code.split("'")[1], result.err.replace("tkagg", "TkAgg"))
        self.fails(host, "plt.switch_backend('none such')", "ModuleNotFoundError")

    def test_o9_a_figure_can_be_displayed_where_the_eval_is(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "IPython", "core"))
            for name, text in (("__init__", "version_info = (9, 0)\ndef get_ipython(): pass"), ("core/__init__", ""), ("core/display_functions", "def display(*objs, **options): print(*objs)")):
                with open(os.path.join(folder, "IPython", name + ".py"), "w") as file:
                    file.write(text)
            host = self.pyplot("import sys; sys.path.insert(0, %r)\nfrom IPython.core.display_functions import display" % folder)
            result = self.shows(host, 2, "fig, ax = plt.subplots()\ndisplay(fig)\nprint('one')\nplt.plot([1])\nNone")
            self.assertEqual(kinds(result), ["display", "out", "display"])
            self.shows(host, 1, "display(fig)")
            self.shows(host, 0, "plt.show()")

    def test_o9_a_colour_bar_comes_to_the_figure_of_an_earlier_eval(self):
        host = self.pyplot("import gc")
        for make in ("fig, ax = plt.subplots()", "fig = plt.figure(); ax = fig.subfigures(1, 2)[0].subplots()"):
            self.shows(host, 1, make + "\nimage = ax.imshow([[1, 2]])")
            result = self.shows(host, 1, "plt.colorbar(image)\nNone")
            self.assertEqual(result.err, "")
            self.ok(host, "len(fig.axes), plt.get_fignums()", "(2, [])")
        self.shows(host, 1, "plt.imshow([[1, 2]]); plt.colorbar()\nNone")

    def test_o9_a_figure_that_was_cleared_is_saved_as_it_is(self):
        host = self.pyplot("import io")
        self.shows(host, 1, "plt.plot([1])\nNone")
        self.shows(host, 0, "for i in range(2):\n    plt.plot([i]); plt.savefig(io.BytesIO()); plt.clf()")
        result = self.ok(host, "file = io.BytesIO(); plt.savefig(file); len(file.getvalue()) < 5000", "True")
        self.assertEqual(result.err, "")

    def test_o9_figures_that_nobody_holds_are_freed(self):
        host = self.pyplot("import gc, matplotlib.figure\ndef alive():\n    gc.collect()\n    return len([x for x in gc.get_objects() if type(x) is matplotlib.figure.Figure])")
        for _ in range(12):
            self.shows(host, 1, "plt.plot([1])\nNone")
        self.ok(host, "alive()", "1")
        self.shows(host, 20, "for i in range(25):\n    plt.figure(); plt.plot([i])")
        self.ok(host, "alive()", "5")
        self.shows(host, 1, "plt.plot([1])\nNone")
        self.ok(host, "alive()", "1")
        self.ok(host, "plt.close('all'); alive()", "0")

    def test_o9_nothing_is_looked_at_when_no_figure_changed(self):
        host = self.pyplot(COUNT)
        self.shows(host, 12, "figs = [plt.figure() for i in range(12)]\nfor fig in figs: fig.add_subplot().plot([1])")
        self.shows(host, 0, "[fig.axes[0].get_xlim() for fig in figs]\nNone")
        self.ok(host, "len(rendered)", "12")

    def test_py14_a_figure_that_a_thread_makes_after_its_eval_is_not_drawn_over(self):
        host = self.pyplot(SEEN + "import threading\ngo, done = threading.Event(), threading.Event()")
        self.shows(host, 0, "def work():\n    go.wait()\n    plt.plot([1]); plt.plot([2])\n    done.set()\nthread = threading.Thread(target=work)\nthread.start()")
        self.shows(host, 0, "go.set()\nthread.join()")
        self.shows(host, 1, "plt.plot([3])\nNone")
        self.lines(host, [1])
        self.shows(host, 0, "go.clear(); thread = threading.Thread(target=work); thread.start()")
        self.shows(host, 0, "go.set()\nthread.join()")
        self.shows(host, 1, "plt.show()")
        self.lines(host, [2])
        self.assertEqual(kinds(self.shows(host, 0, "1")), ["value"])
