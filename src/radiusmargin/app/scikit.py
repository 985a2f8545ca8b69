"""scikit-learn's estimators from the records of a model file.

They are not given the attributes of a file. An estimator with our parameters is fitted to a few rows of the same number of
columns and classes, which makes all attributes that this version of scikit-learn has; then the learnt arrays are put in the
place of those, where type and shape are the same.
"""

from __future__ import annotations

from copy import copy
from numbers import Real

import numpy as np
import sklearn
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from ..tables import DataError
from ..tables.table_encoder import DATE_PARTS, TIME_PARTS, TableEncoder
from .container import Record

__all__ = ["IGNORED", "SCIKIT", "rebuild_encoder", "rebuild_scikit", "require"]

#: Estimators as this package makes them, parameters that it chooses, and arrays that are learnt.
MADE = {
    "StandardScaler": (StandardScaler(), (), ("mean_", "var_", "scale_", "n_samples_seen_")),
    "DummyClassifier": (DummyClassifier(), (), ("class_prior_",)),
    "LogisticRegression": (LogisticRegression(max_iter=1000), ("C",), ("coef_", "intercept_", "n_iter_")),
    "LinearSVC": (LinearSVC(dual="auto", random_state=0), ("C",), ("coef_", "intercept_")),
    "SVC": (SVC(), ("C", "gamma"), ("intercept_", "_intercept_", "_gamma")),
    "RandomForestClassifier": (RandomForestClassifier(random_state=0), ("max_features",), ()),
    "HistGradientBoostingClassifier": (
        HistGradientBoostingClassifier(random_state=0, early_stopping=False),
        ("learning_rate",),
        ("_baseline_prediction",),
    ),
}

#: Parameters that are the number of trees.
LENGTHS = {"RandomForestClassifier": ("n_estimators",), "HistGradientBoostingClassifier": ("max_iter",)}

#: Names that records may have: estimators that are rebuilt, and what their attributes hold, which is not looked at.
SCIKIT = {f"sklearn.{name}" for name in MADE}
IGNORED = {
    "sklearn.Pipeline", "sklearn.DecisionTreeClassifier", "sklearn.Tree", "sklearn.TreePredictor",
    "sklearn._BinMapper", "sklearn.LabelEncoder", "sklearn.HalfBinomialLoss", "sklearn.HalfMultinomialLoss",
    "sklearn.CyHalfBinomialLoss", "sklearn.CyHalfMultinomialLoss", "_loss.CyHalfBinomialLoss", "_loss.CyHalfMultinomialLoss", "sklearn.LogitLink", "sklearn.MultinomialLogit",
    "sklearn.Interval", "numpy.Generator", "numpy.dtype", "builtins.slice", "builtins.float", "builtins.str",
}  # fmt: skip

#: What a fit of a `TableEncoder` sets, and the kinds of columns.
ENCODING = {
    "kinds_": dict, "medians_": dict, "categories_": dict, "infrequent_": list, "messages_": list,
    "n_features_in_": int,
}  # fmt: skip
KINDS = ("number", "ordered", "category", "date", "text")

#: The few rows are so many numbers at most; and so many cells of a table.
MOST_NUMBERS = 2**26


def require(holds, what) -> None:
    """Raise a DataError that says what is wrong with a file, unless the condition holds."""
    if not holds:
        raise DataError(what)


def rebuild_scikit(record: Record, width: int):
    """Rebuild a standardisation or a classifier that takes rows of so many columns."""
    estimator, chosen, learnt = MADE[record.cls]
    own = record.attributes
    parameters = {name: own[name] for name in chosen}
    require(all(isinstance(value, str | Real) for value in parameters.values()), f"parameters are {parameters}")
    made = _fitted(sklearn.clone(estimator).set_params(**parameters), own.get("classes_"), width)
    if own.get("_sklearn_version") == sklearn.__version__:  # the attributes of other versions are other ones
        _check_attributes(own, made, chosen)
    for name in learnt:
        _take(made, own, name)
    more = {"SVC": _add_support, "RandomForestClassifier": _add_trees, "HistGradientBoostingClassifier": _add_boosts}
    if record.cls in more:
        more[record.cls](made, own, width)
    return made


def _fitted(estimator, classes, width):
    if isinstance(estimator, StandardScaler):
        return estimator.fit(np.zeros((1, width)))
    require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "there are no classes")
    require(len(classes) * width <= MOST_NUMBERS, f"{len(classes)} classes of {width} columns are too many")
    estimator.set_params(**dict.fromkeys(LENGTHS.get(type(estimator).__name__, ()), 1))
    estimator.fit(np.zeros((len(classes), width)), classes)
    require(np.array_equal(estimator.classes_, classes), "classes are not sorted")
    return estimator


def _check_attributes(own, made, chosen):
    """Raise a DataError where a record has attributes or parameters that a fit of ours does not leave."""
    extra = own.keys() - vars(made).keys() - {"_sklearn_version"}
    require(not extra, f"{type(made).__name__} has the attributes {sorted(map(str, extra))}, which no fit sets")
    for name, value in made.get_params(deep=False).items():
        if name not in (*chosen, *LENGTHS.get(type(made).__name__, ())):
            require(repr(own.get(name)) == repr(value), f"{type(made).__name__} has {name}={own.get(name)!r}")


def _take(made, own, name):
    """Set an array, or a number, that is of the type and shape of the one that is there."""
    there, value = np.asarray(vars(made)[name]), np.asarray(own[name])
    fits = value.shape == there.shape and value.dtype.kind in "iuf" and np.isfinite(value).all()
    require(fits, f"{name} of {type(made).__name__} is not an array of shape {there.shape} of finite numbers")
    setattr(made, name, value.astype(there.dtype)[()])  # whole in one version of scikit-learn, and not in another


def _add_support(svc, own, width):
    """The rows that an SVC is made of, and their coefficients."""
    n_classes, n_rows = len(svc.classes_), len(own["support_"])
    shapes = {"support_": (n_rows,), "support_vectors_": (n_rows, width), "_n_support": (n_classes,)}
    shapes |= {"dual_coef_": (n_classes - 1, n_rows), "_dual_coef_": (n_classes - 1, n_rows)}
    for name, shape in shapes.items():
        there, value = vars(svc)[name], own[name]
        fits = isinstance(value, np.ndarray) and value.shape == shape and value.dtype == there.dtype
        require(fits and np.isfinite(value).all(), f"{name} of SVC is not {shape} finite numbers")
        setattr(svc, name, np.ascontiguousarray(value))
    counts = own["_n_support"]
    require(
        counts.min() >= 0 and counts.sum() == n_rows > 0, "support vectors of SVC are not as many as they should be"
    )
    require(own["_gamma"] > 0, "gamma of SVC is not positive")


def _add_trees(forest, own, width):
    one, n_classes = forest.estimators_[0], len(forest.classes_)
    like = one.tree_.__getstate__()["nodes"].dtype
    forest.estimators_ = []
    for record in own["estimators_"]:
        state = record.attributes["tree_"].attributes
        nodes, values = state["nodes"], state["values"]
        _check_nodes(
            nodes, like, width, ("left_child", "right_child", "feature"), lambda nodes: nodes["left_child"] == -1
        )
        fits = (
            isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (len(nodes), 1, n_classes)
        )
        require(
            fits and np.isfinite(values).all() and (values >= 0).all(), "leaves of a tree are not shares of classes"
        )
        tree = type(one.tree_)(width, np.array([n_classes], dtype=np.intp), 1)
        tree.__setstate__({"max_depth": len(nodes), "node_count": len(nodes), "nodes": nodes, "values": values})
        forest.estimators_.append(copy(one))
        forest.estimators_[-1].tree_ = tree
    require(forest.estimators_, "a forest has no trees")
    forest.n_estimators = len(forest.estimators_)


def _add_boosts(boosting, own, width):
    one = vars(boosting)["_predictors"][0][0]
    rounds = [[copy(one) for _ in trees] for trees in own["_predictors"]]
    per_round = boosting.n_trees_per_iteration_
    require(rounds and all(len(trees) == per_round for trees in rounds), "rounds of boosting have no trees")
    for trees, records in zip(rounds, own["_predictors"], strict=True):
        for tree, record in zip(trees, records, strict=True):
            tree.nodes = record.attributes["nodes"]
            _check_nodes(
                tree.nodes, one.nodes.dtype, width, ("left", "right", "feature_idx"), lambda n: n["is_leaf"] != 0
            )
            require(not tree.nodes["is_categorical"].any(), "a tree splits by categories")
            require(np.isfinite(tree.nodes["value"]).all(), "leaves of a tree are not finite")
    vars(boosting)["_predictors"], boosting.max_iter = rounds, len(rounds)


def _check_nodes(nodes, dtype, width, names, is_leaf):
    """Raise a DataError unless every node is a leaf, or has a feature of the rows and two children that come after it."""
    require(
        isinstance(nodes, np.ndarray) and nodes.ndim == 1 and nodes.dtype == dtype and len(nodes), "a tree has no nodes"
    )
    place = np.flatnonzero(~is_leaf(nodes))
    left, right, feature = (nodes[name][place].astype(np.int64) for name in names)
    inside = (left > place) & (left < len(nodes)) & (right > place) & (right < len(nodes))
    require((inside & (feature >= 0) & (feature < width)).all(), "a tree has a child or a feature that is not there")


# -- tables -----------------------------------------------------------------------------------------------------------


def rebuild_encoder(record: Record) -> TableEncoder:
    """Rebuild the encoding of a table from the kinds of its columns, its medians and its categories."""
    own = dict(record.attributes)
    extra = own.keys() - vars(TableEncoder()).keys() - ENCODING.keys() - {"feature_names_in_", "_sklearn_version"}
    require(not extra, f"the encoding has the attributes {sorted(map(str, extra))}, which no fit sets")
    for name, kind in ENCODING.items():
        require(isinstance(own.get(name), kind), f"{name} of the encoding is no {kind.__name__}")
    kinds, names = own["kinds_"], [str(name) for name in np.ravel(own.get("feature_names_in_", ()))]
    require(all(isinstance(name, str | int) for name in kinds), "columns have no names")
    for kind in kinds.values():
        known = isinstance(kind, str) and kind.partition(" ")[0] in KINDS
        require(known, f"there is a column of kind {kind!r}")
    require(0 < own["n_features_in_"] <= MOST_NUMBERS, "a number of columns is out of range")
    made = TableEncoder(dict(kinds))
    made.__dict__.update({name: own[name] for name in ENCODING})
    if names:
        made.feature_names_in_ = np.array(names, dtype=object)
    for name, kind in kinds.items():
        _check_column(made, name, kind.partition(" ")[0])
    for some in (made.infrequent_, made.messages_):
        require(all(isinstance(name, str | int) for name in some), "columns have no names")
    return made


def _check_column(encoder, name, kind):
    """Raise a DataError unless a column has the medians and categories of its kind."""
    lengths = {"number": (1,), "ordered": (1,), "date": (len(DATE_PARTS), len(DATE_PARTS + TIME_PARTS))}.get(kind)
    if lengths:
        found = encoder.medians_.get(name)
        fits = isinstance(found, np.ndarray) and found.ndim == 1 and len(found) in lengths and found.dtype == np.float64
        require(fits and np.isfinite(found).all(), f"column {name!r} has no medians")
    if kind in ("category", "ordered"):
        found = encoder.categories_.get(name)
        fits = isinstance(found, np.ndarray) and found.ndim == 1 and 0 < len(found) <= MOST_NUMBERS
        require(fits and all(isinstance(text, str) for text in found.tolist()), f"categories of {name!r} are no texts")
        require(len(set(found.tolist())) == len(found), f"a category of {name!r} is there twice")
