"""Small tasks and plans for the tests of the harness."""

import numpy as np

from radiusmargin.paper import Spec, make_plan
from radiusmargin.paper.data import make_twonorm
from radiusmargin.tables import TaskData


def toy_task(name="toy", n=60, d=4, splits=0, seed=0):
    X, y = make_twonorm(n, d, random_state=seed)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for _ in range(splits)]
    known = tuple((np.sort(o[: n // 2]), np.sort(o[n // 2 :])) for o in orders) or None
    return TaskData(name, X, y, tuple(f"x{j}" for j in range(d)), known)


def toy_plan(models=("svm", "fsvm"), names=("toy",), **options):
    spec = Spec(
        "toy",
        models=tuple(models),
        datasets=tuple(names),
        **{"folds": 3, "inner_folds": 3, "budget": 2, **options},
    )
    tasks = {name: toy_task(name, seed=i) for i, name in enumerate(names)}
    return spec, tasks, make_plan(spec, tasks)
