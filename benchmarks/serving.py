"""What a fitted model costs to serve: `python benchmarks/serving.py`.

One row at a time (the minimum over rounds of calls, in microseconds of processor time), a thousand rows at a time (per row), and
the size of its pickle. Half of the rows are learnt from.
"""

from __future__ import annotations

import pickle
import time
import warnings

import common
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin import FSVMCV, SVM, AutoSVM

MODELS = {
    "AutoSVM()": AutoSVM(),
    'AutoSVM(combine="best")': AutoSVM(combine="best"),
    "FSVMCV()": FSVMCV(),
    "SVM, Gaussian": make_pipeline(StandardScaler(), SVM(kernel="rbf", gamma="scale")),
    "SVC, Gaussian": make_pipeline(StandardScaler(), SVC()),
    "random forest, 500": RandomForestClassifier(500, random_state=0),
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
}
ROUNDS, CALLS, MANY = 15, 5, 1000


def microseconds(model, rows, calls):
    """Processor time of one call of `predict`: the minimum over rounds of the mean of some calls."""
    best = np.inf
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(calls):
            model.predict(rows)
        best = min(best, (time.process_time() - start) / calls)
    return 1e6 * best


def main():
    warnings.simplefilter("ignore")
    rows = []
    for load in (load_digits, load_breast_cancer):
        X, y = load(return_X_y=True)
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
        many = np.resize(test, (MANY, X.shape[1]))
        for name, model in MODELS.items():
            model.fit(train, y_train)
            one, block = microseconds(model, test[:1], CALLS), microseconds(model, many, 1) / MANY
            size = len(pickle.dumps(model)) / 1024
            accuracy = 100 * model.score(test, y_test)
            rows.append([load.__name__[5:], name, f"{accuracy:.1f}", f"{one:,.0f}", f"{block:.1f}", f"{size:,.0f}"])
            print(*rows[-1], flush=True)
    header = ["data", "model", "accuracy", "one row, µs", "a row of a thousand, µs", "pickle, KB"]
    text = f"## Serving\n\n`python benchmarks/serving.py`: {common.provenance()}\n\n{__doc__.split(chr(10) * 2)[1]}\n\n"
    common.write_section("serving", text + common.table(header, rows))


if __name__ == "__main__":
    main()
