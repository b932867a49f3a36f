"""Libraries that draw with matplotlib, and plotly. Needs pandas, plotly and seaborn themselves."""
import pandas  # noqa: F401  a Python without these cannot run the tests
import plotly  # noqa: F401
import seaborn  # noqa: F401
from test_figures import PyplotTest

DATA = "import pandas\ndf = pandas.DataFrame({'a': [1, 2, 3, 4], 'b': [3, 1, 2, 2], 'c': list('xyxy')})\n"


class Plotting(PyplotTest):
    def test_o9_plots_of_pandas(self):
        host = self.pyplot(DATA)
        for plot in ("df.plot()", "df.plot(subplots=True)", "df.a.plot.hist()", "df.hist()", "df.boxplot()", "df.plot.bar(); plt.show()"):
            self.shows(host, 1, plot + "\nNone")
        self.shows(host, 1, "ax = df.plot.scatter(x='a', y='b')")
        self.shows(host, 1, "plt.plot([1])\nNone")
        self.shows(host, 1, "df.b.plot(ax=ax)\nNone")
        self.ok(host, "len(ax.lines), len(ax.collections)", "(1, 1)")
        self.shows(host, 1, "a = df.a.plot(); b = df.b.plot(); same = a is b")
        self.ok(host, "same", "True")

    def test_o9_plots_of_seaborn(self):
        host = self.pyplot(DATA + "import seaborn as sns")
        self.shows(host, 1, "grid = sns.pairplot(df)")
        self.shows(host, 1, "ax = sns.scatterplot(data=df, x='a', y='b')")
        self.ok(host, "ax.figure is grid.figure, len(ax.figure.axes)", "(False, 1)")
        self.shows(host, 1, "sns.heatmap(df[['a', 'b']], cmap='viridis')\nNone")
        self.shows(host, 1, "grid = sns.FacetGrid(df, col='c')\ngrid.map(sns.histplot, 'a')")
        self.shows(host, 1, "grid.set_titles('one')\nNone")
        self.shows(host, 1, "grid")
        self.shows(host, 1, "sns.relplot(data=df, x='a', y='b', col='c'); plt.show()")
        self.shows(host, 1, "sns.set_theme(); sns.lineplot(data=df, x='a', y='b')\nNone")

    def test_o9_show_of_plotly_shows_what_the_last_value_would(self):
        host = self.start(env={"BROWSER": "", "PLOTLY_RENDERER": "", "PATH": "/nonexistent"})
        result = self.ok(host, "import os; del os.environ['PLOTLY_RENDERER']\nimport plotly.graph_objects as go\nfig = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]))\nprint('one'); fig.show(); print('two')", out="one\ntwo\n")
        shown = [(event["mime"], event["data"]) for event in result.events if event["ev"] == "display"]
        self.assertEqual([mime for mime, _ in shown], ["text/html", "text/plain"])
        self.assertIn("1 trace", shown[1][1])
        self.assertEqual([kind for kind, text in result.order if text], ["out", "display", "display", "out"])
        # Another renderer is for plotly to call.
        self.fails(host, "fig.show('none such')", "ValueError")
