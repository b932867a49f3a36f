//! Names that Python does not know.

use super::Hint;
use super::line::Failed;

/// A word of another language, or a name that everybody imports.
pub(super) fn name(failed: &Failed<'_>, name: &str) -> Option<Hint> {
    // An unknown name inside a library is a defect of that library and no habit of the user.
    if !failed.fails_in_session() {
        return None;
    }
    let right = match name {
        "true" => Some("True"),
        "false" => Some("False"),
        "null" | "nil" | "undefined" | "NULL" => Some("None"),
        "NaN" => Some("float(\"nan\")"),
        _ => None,
    };
    if let Some(right) = right {
        return Some(Hint::Word { wrote: name.to_owned(), right, title: "Python" });
    }
    if name == "display" {
        return Some(Hint::Display);
    }
    // Newer Pythons themselves suggest to import a module of the standard library.
    let error = failed.error?;
    let says = |text: &str| text.contains("Did you forget to import");
    if says(&error.message) || error.traceback.as_deref().is_some_and(says) {
        return None;
    }
    let known = IMPORTS.iter().find(|(known, _)| *known == name);
    if let Some((_, code)) = known {
        return Some(Hint::Import { code });
    }
    None
}

/// Names that everybody imports in the same way.
const IMPORTS: &[(&str, &str)] = &[
    ("np", "import numpy as np"),
    ("numpy", "import numpy"),
    ("pd", "import pandas as pd"),
    ("pandas", "import pandas"),
    ("pl", "import polars as pl"),
    ("plt", "import matplotlib.pyplot as plt"),
    ("mpl", "import matplotlib as mpl"),
    ("sns", "import seaborn as sns"),
    ("px", "import plotly.express as px"),
    ("alt", "import altair as alt"),
    ("nx", "import networkx as nx"),
    ("tf", "import tensorflow as tf"),
    ("torch", "import torch"),
    ("sklearn", "import sklearn"),
    ("scipy", "import scipy"),
    ("requests", "import requests"),
    ("tqdm", "from tqdm import tqdm"),
    ("pytest", "import pytest"),
    ("Path", "from pathlib import Path"),
    ("defaultdict", "from collections import defaultdict"),
    ("Counter", "from collections import Counter"),
    ("OrderedDict", "from collections import OrderedDict"),
    ("namedtuple", "from collections import namedtuple"),
    ("deque", "from collections import deque"),
    ("partial", "from functools import partial"),
    ("reduce", "from functools import reduce"),
    ("lru_cache", "from functools import lru_cache"),
    ("dataclass", "from dataclasses import dataclass"),
    ("Enum", "from enum import Enum"),
    ("Decimal", "from decimal import Decimal"),
    ("Fraction", "from fractions import Fraction"),
    ("timedelta", "from datetime import timedelta"),
    ("datetime", "from datetime import datetime"),
    ("pprint", "from pprint import pprint"),
    ("contextmanager", "from contextlib import contextmanager"),
    ("Optional", "from typing import Optional"),
    ("List", "from typing import List"),
    ("Dict", "from typing import Dict"),
    ("Union", "from typing import Union"),
    ("Any", "from typing import Any"),
    ("Callable", "from typing import Callable"),
    ("Iterable", "from typing import Iterable"),
    ("Literal", "from typing import Literal"),
    ("BaseModel", "from pydantic import BaseModel"),
    ("os", "import os"),
    ("sys", "import sys"),
    ("re", "import re"),
    ("json", "import json"),
    ("math", "import math"),
    ("random", "import random"),
    ("time", "import time"),
    ("csv", "import csv"),
    ("glob", "import glob"),
    ("shutil", "import shutil"),
    ("subprocess", "import subprocess"),
    ("itertools", "import itertools"),
    ("functools", "import functools"),
    ("collections", "import collections"),
    ("pathlib", "import pathlib"),
    ("logging", "import logging"),
    ("pickle", "import pickle"),
    ("threading", "import threading"),
    ("asyncio", "import asyncio"),
    ("tempfile", "import tempfile"),
    ("traceback", "import traceback"),
    ("warnings", "import warnings"),
    ("statistics", "import statistics"),
    ("hashlib", "import hashlib"),
    ("base64", "import base64"),
    ("urllib", "import urllib.request"),
    ("sqlite3", "import sqlite3"),
    ("textwrap", "import textwrap"),
    ("timeit", "import timeit"),
];
