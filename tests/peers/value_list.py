"""Values that people end an eval with, and what a reply must say of each (SPEC O-8, O-9).

A case is added with its library in `values.txt`, and in `requirements.txt` too if it belongs to the core that every
run of ./test looks at.
"""
# One case a line, so that the list can be read as one.
# ruff: noqa: E501

from typing import NamedTuple

# Libraries of the peers' own venv.
CORE = {
    "numpy", "pandas", "polars", "pillow", "matplotlib", "rich", "tqdm", "ipython", "pydantic",
    "attrs", "sklearn", "plotly", "sympy", "shapely", "networkx", "sqlalchemy", "altair", "folium",
}


class Case(NamedTuple):
    needs: str  # Libraries, separated by blanks; "" is the standard library alone.
    setup: str
    value: str
    says: list  # Each must be in the reply.
    shows: str = ""  # "picture", "page" or "picture or page", besides the text.

    def is_core(self):
        return set(self.needs.split()) <= CORE


FRAME = "import pandas as pd\ndf = pd.DataFrame({'city': ['Rome', 'Oslo', 'Bern'], 'n': [1, 22, 333], 'x': [0.5, 1.25, 7.0]})"
SKLEARN = "import numpy as np\nfrom sklearn.compose import ColumnTransformer\nfrom sklearn.linear_model import *\nfrom sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import *"
FITTED = "make_pipeline(StandardScaler(), LinearRegression()).fit(np.arange(8.0).reshape(4, 2), [1, 2, 3, 5])"
OLS = "import numpy as np, statsmodels.api as sm\nt = np.arange(20.0)\nfitted = sm.OLS(2 * t + np.sin(t), sm.add_constant(t)).fit()"

CASES = [
    # Plain Python.
    Case("", "", "{'users': [{'name': 'ann', 'tags': ['x'] * 50, 'address': {'city': 'Rome', 'zip': i}} for i in range(200)]}", ["'name': 'ann'", "(200 items)"]),
    Case("", "import dataclasses\n@dataclasses.dataclass\nclass Order:\n    id: int\n    lines: list", "Order(7, [('tea', 2)])", ["Order(id=7, lines=[('tea', 2)])"]),
    Case("", "class Account:\n    def __init__(self): self.owner, self.balance, self._key = 'ann', 12.5, 'secret'", "Account()", ["<Account: owner='ann', balance=12.5>"]),
    Case("", "import collections", "collections.Counter('mississippi' * 1000)", ["'i': 4000", "'m': 1000"]),
    Case("", "", "list(range(100_000))", ["[0, 1, 2,", "99999] (100000 items)"]),
    Case("", "import datetime, decimal", "[datetime.date(2024, 2, 29), decimal.Decimal('1.10')]", ["datetime.date(2024, 2, 29)", "Decimal('1.10')"]),
    # Arrays and frames.
    Case("numpy", "import numpy as np", "np.arange(1_000_000).reshape(1000, 1000)", ["ndarray(1000×1000, int64)", "1001"]),
    Case("pandas", FRAME, "df", ["Rome", "1.25"]),
    Case("pandas", FRAME, "pd.concat([df] * 1000)", ["DataFrame(3000×3)", "columns: city", "Oslo"]),
    Case("pandas", FRAME, "df.style.highlight_max().format(precision=1)", ["Bern  333", "7.0"], "page"),
    Case("pandas", FRAME, "df.groupby('city')", ["DataFrameGroupBy by 'city' of DataFrame(3×3)"]),
    Case("pandas", "import pandas as pd", "pd.DataFrame({'a': [1, 2]}, index=pd.date_range('2020', periods=2)).resample('D')", ["DatetimeIndexResampler", "Day"]),
    Case("polars", "import polars as pl", "pl.DataFrame({'a': range(5000), 'b': ['x'] * 5000})", ["DataFrame(5000×2)", "a Int64"]),
    Case("pyarrow", "import pyarrow as pa", "pa.table({'a': list(range(5000)), 'b': ['x'] * 5000})", ["a: int64", "4999"]),
    Case("xarray", "import numpy as np, xarray as xr", "xr.Dataset({'t': (('x', 'y'), np.ones((3, 4)))}, coords={'x': [1, 2, 3]})", ["<xarray.Dataset>", "t        (x, y) float64"]),
    Case("dask", FRAME + "\nimport dask.dataframe as dd", "dd.from_pandas(df, npartitions=2)", ["Dask DataFrame", "npartitions=2", "city"]),
    Case("jax", "import jax.numpy as jnp", "jnp.arange(6.0).reshape(2, 3)", ["Array([[0., 1., 2.]"]),
    Case("duckdb", "import duckdb", "duckdb.sql('select 42 as answer, 43 as other')", ["answer", "42"]),
    Case("astropy", "from astropy.table import Table", "Table({'star': ['Vega', 'Deneb'], 'mag': [0.03, 1.25]})", ["Vega", "1.25"]),
    Case("geopandas", "import geopandas, shapely", "geopandas.GeoDataFrame({'name': ['here']}, geometry=[shapely.Point(1, 2)])", ["here", "POINT (1 2)"]),
    Case("h5py", "import h5py\nfile = h5py.File('a', 'w', driver='core', backing_store=False)", "file.create_dataset('speed', (3, 4))", ['"speed"', "(3, 4)"]),
    # Tables made for reading.
    Case("rich", "from rich.table import Table\ntable = Table(title='Films')\ntable.add_column('Year')\ntable.add_column('Title')\ntable.add_row('1977', 'A New Hope')", "table", ["Films", "│ 1977 │ A New Hope │"]),
    Case("rich", "from rich.panel import Panel", "Panel('all is [red]well[/red]')", ["all is well"]),
    Case("great_tables", FRAME + "\nfrom great_tables import GT", "GT(df, rowname_col='city')", ["Rome", "333"], "page"),
    Case("ipython", "from IPython.display import HTML", "HTML('<style>b {color: red}</style><h1>Report</h1><table><tr><td>total</td><td>42</td></tr></table>')", ["Report", "total  42"], "page"),
    Case("ipython", "from IPython.display import Markdown", "Markdown('# Title\\n\\n- one')", ["# Title", "- one"]),
    Case("tqdm", "import tqdm", "tqdm.tqdm(range(10), file=open('/dev/null', 'w'))", ["0/10"]),
    # Models and mathematics.
    Case("sklearn", SKLEARN, "LinearRegression()", ["LinearRegression()"]),
    Case("sklearn", SKLEARN, FITTED, ["Pipeline(steps=[", "StandardScaler()", "LinearRegression()"]),
    Case("sklearn", SKLEARN, "ColumnTransformer([('scale', StandardScaler(), [0]), ('hot', OneHotEncoder(), [1])])", ["ColumnTransformer", "OneHotEncoder()"]),
    Case("statsmodels", OLS, "fitted", ["OLS", "20 observations", "const", "x1 1.9"]),
    Case("statsmodels", OLS, "fitted.summary()", ["OLS Regression Results", "R-squared", "Durbin-Watson"]),
    Case("sympy", "import sympy\nx = sympy.symbols('x')", "sympy.integrate(sympy.sin(x) ** 2, x)", ["x/2 - sin(x)*cos(x)/2"]),
    Case("pint", "import pint\nunit = pint.UnitRegistry()", "3 * unit.metre / unit.second", ["meter / second"]),
    Case("networkx", "import networkx as nx", "nx.path_graph(5)", ["Graph with 5 nodes and 4 edges"]),
    Case("shapely", "import shapely", "shapely.Polygon([(0, 0), (1, 0), (1, 1)])", ["POLYGON ((0 0, 1 0, 1 1, 0 0))", "[image: image/svg+xml, "]),
    # Records and queries.
    Case("pydantic", "import pydantic\nclass User(pydantic.BaseModel):\n    name: str\n    age: int = 3", "User(name='ann')", ["User(name='ann', age=3)"]),
    Case("attrs", "import attrs\n@attrs.define\nclass Point:\n    x: int\n    y: list", "Point(1, [2])", ["Point(x=1, y=[2])"]),
    Case("sqlalchemy", "import sqlalchemy as sa\nusers = sa.table('users', sa.column('id'), sa.column('name'))", "sa.select(users).where(users.c.id == 3)", ["SELECT users.id, users.name", "WHERE users.id = "]),
    Case("bs4", "import bs4", "bs4.BeautifulSoup('Hello there', 'html.parser')", ["Hello there"]),
    # Pictures, charts and maps.
    Case("pillow", "from PIL import Image", "Image.new('RGB', (40, 30), 'red')", ["40×30", "mode=RGB"], "picture"),
    Case("matplotlib", "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nlines = ax.plot([1, 3, 2])\nplt.close(fig)", "fig", ["<Figure size 640x480 with 1 Axes>"], "picture"),
    Case("matplotlib", "import matplotlib.pyplot as plt\nfrom matplotlib.animation import FuncAnimation\nfig, ax = plt.subplots()\n(line,) = ax.plot([1, 2])", "FuncAnimation(fig, lambda i: line.set_ydata([i, i]), frames=20, interval=50)", ["FuncAnimation: 20 frames", ".save("]),
    Case("seaborn", FRAME + "\nimport seaborn as sns", "sns.FacetGrid(df, col='city')", ["FacetGrid: 1×3 axes", "'Oslo'"], "picture"),
    Case("plotly", "import plotly.express as px", "px.line(x=list(range(100)), y=list(range(100)), title='Rise')", ["Figure: 1 trace, scatter lines 100 points", '"Rise"'], "picture or page"),
    Case("altair", FRAME + "\nimport altair as alt", "alt.Chart(df).mark_line().encode(x='n', y='mean(x)', color='city')", ["Chart: line", "x=n quantitative", "y=mean(x)", "3 rows"], "picture or page"),
    Case("altair pandas", "import altair as alt, pandas as pd", "alt.Chart(pd.DataFrame({'a': range(9000)})).mark_bar().encode(x='a')", ["Chart: bar, x=a quantitative, 9000 rows", "(it cannot be shown: "]),
    Case("bokeh", "from bokeh.plotting import figure\nplot = figure(title='Lines')\ndrawn = plot.line([1, 2, 3], [4, 5, 6])", "plot", ["figure: Line(x 3, y 3)", "Lines"], "page"),
    Case("folium", "import folium\nplaces = folium.Map([45, 7])\nfor i in range(50): folium.Marker([45, 7 + i / 100]).add_to(places)", "places", ["Map at [45.0, 7.0]", "Marker 50"], "page"),
    Case("graphviz", "import graphviz\ngraph = graphviz.Digraph()\ngraph.edge('start', 'end')", "graph", ["start -> end"]),
    Case("pygal", "import pygal\nbars = pygal.Bar()\nbars.add('a', [1, 2, 3])", "bars", ["[image: image/svg+xml, "]),
]
