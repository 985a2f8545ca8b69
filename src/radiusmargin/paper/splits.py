"""Outer and inner splits: which rows train, which test, and what of it is official."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from ..tables import DataError, TaskData
from .metrics import METRICS
from .plan import seed_for

__all__ = ["SAMPLE", "inner_folds", "outer_split", "paper_folds", "split_note", "subsample", "suitable_folds"]

#: The words by which the message about a table that was cut is known.
SAMPLE = "sample of"


def outer_split(task: TaskData, cell) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a cell; the model plays no part, so that all models see the same."""
    if cell.splits == "official":
        known = task.splits or ()
        return known[cell.run] if cell.run < len(known) else _redrawn(task, cell.run)
    repeat, fold = divmod(cell.run, cell.folds)
    if task.in_time:
        return _later_rows(task, cell.folds)[fold]
    y = None if task.quantity else task.y
    return list(_folds(y, cell.folds, "outer", task.name, repeat, n_rows=task.n_samples, groups=task.groups))[fold]


def _later_rows(task, n_folds):
    """Splits of rows in the order of time: all earlier rows to learn from, the next ones to test on."""
    splits = list(TimeSeriesSplit(n_folds).split(task.y))
    for train, _ in splits if not task.quantity else ():
        found = np.unique(task.y[train], return_counts=True)
        if len(found[0]) < task.n_classes or found[1].min() < 2:
            raise DataError(
                f"{task.name}: the first {len(train)} rows in time do not hold two rows of every class; fewer --folds make the"
                " first part longer"
            )
    return splits


def paper_folds(task: TaskData, cell) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of one run over the whole set, on which the paper's protocol both selects and reports."""
    return list(_folds(task.y, cell.folds, "paper", task.name, cell.run))


def inner_folds(y, cell, groups=None, in_time=False) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds on which hyper-parameters are chosen: the same for every model of a split.

    Rows of a group are kept together. Of rows in the order of time, every fold is a period.
    """
    n_rows = len(y)
    y = None if METRICS[cell.metric].of_quantity else y
    if in_time and groups is None:
        if y is None:
            return list(KFold(cell.inner_folds).split(np.zeros(n_rows)))
        smallest = np.unique(y, return_counts=True)[1].min()
        return list(StratifiedKFold(min(cell.inner_folds, smallest)).split(np.zeros(len(y)), y))
    return list(_folds(y, cell.inner_folds, "inner", cell.dataset, cell.run, n_rows=n_rows, groups=groups))


def _folds(y, n_folds, *axes, n_rows=None, groups=None):
    """Random folds, stratified by the classes y, if there are classes."""
    if groups is not None:
        return _group_folds(y, n_folds, groups, seed_for(*axes))
    if y is None:
        return KFold(n_folds, shuffle=True, random_state=seed_for(*axes)).split(np.zeros(n_rows))
    smallest = np.unique(y, return_counts=True)[1].min()
    if smallest < n_folds:
        raise DataError(f"the smallest class has {smallest} rows, too few for {n_folds} folds")
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed_for(*axes))
    return folds.split(np.zeros(len(y)), y)


def _group_folds(y, n_folds, groups, seed):
    """Folds that keep groups together; a DataError where a training part would lack a class."""
    n_groups = len(np.unique(groups))
    if n_groups < n_folds:
        raise DataError(f"{n_groups} groups are too few for {n_folds} folds")
    if y is None:
        folds = GroupKFold(n_folds, shuffle=True, random_state=seed)
        return list(folds.split(np.zeros(len(groups)), groups=groups))
    folds = list(StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups))
    for train, _ in folds:
        missing = np.setdiff1d(y, y[train])
        if len(missing):
            raise DataError(
                f"class {missing[0]!s} is in too few groups for {n_folds} folds: all its rows are in one of them"
            )
    return folds


def _redrawn(task, run):
    """A random split of the sizes of the first official one; drawn again until every class can be learnt."""
    if not task.splits:
        raise DataError(f"{task.name} has no official splits to take the sizes from")
    n_train = len(task.splits[0][0])
    rng = np.random.default_rng(seed_for("split", task.name, run))
    n_classes = task.n_classes
    for _ in range(100):
        order = rng.permutation(task.n_samples)
        train, test = np.sort(order[:n_train]), np.sort(order[n_train:])
        counts = np.unique(task.y[train], return_counts=True)[1]
        if len(counts) == n_classes and counts.min() >= 5:
            return train, test
    raise DataError(f"{task.name}: no split of {n_train} training rows has five rows of every class")


def split_note(task: TaskData, runs: int) -> str:
    """What is official of the splits of a set, in a sentence."""
    known = len(task.splits or ())
    used = min(known, runs)
    sizes = f"{len(task.splits[0][0])} training and {len(task.splits[0][1])} test rows" if known else ""
    presumed = " (presumed)" if "presumed" in task.note else ""
    if used == runs:
        return f"{task.name}: {runs} official split{'s' * (runs > 1)}{presumed}, {sizes}"
    official = f"{used} official split{'s' * (used > 1)}{presumed}"
    return f"{task.name}: {official}, {runs - used} redrawn at random, {sizes}"


def suitable_folds(
    task: TaskData, folds: int | None, inner_folds: int | None, usual: int = 5
) -> tuple[TaskData, int, int]:
    """The usual number of outer and inner folds, or as many as the smallest class has rows for, with a message then.

    Those that are given are taken or refused.
    """
    from dataclasses import replace

    if task.quantity:
        return task, *_folds_of_quantity(task, folds or usual, inner_folds or usual)
    values, counts = np.unique(task.y, return_counts=True)
    name, smallest = values[counts.argmin()], int(counts.min())
    outer = folds or min(usual, smallest)
    left = smallest - -(-smallest // outer)  # rows of that class in the smallest training part
    inner = inner_folds or min(usual, left)
    if smallest < outer or left < max(inner, 2):
        wanted = f"{outer} outer and {inner} inner folds" if inner_folds or folds else "three rows of every class"
        raise DataError(
            f"{task.name}: class {name!s} has {smallest} row{'s' * (smallest != 1)}, and a comparison needs {wanted}; "
            "leave that class out, join it with another, or get more rows"
        )
    if (folds, inner_folds) == (None, None) and (outer, inner) != (usual, usual):
        said = f"class {name!s} has {smallest} rows: {outer} outer and {inner} inner folds, not {usual} and {usual}"
        task = replace(task, messages=(*task.messages, said))
    return task, outer, inner


def _folds_of_quantity(task, outer, inner) -> tuple[int, int]:
    """The numbers of folds, if there are rows for two in every part."""
    n_train = task.n_samples - -(-task.n_samples // outer)
    if task.n_samples < 2 * outer or n_train < 2 * inner:
        raise DataError(
            f"{task.name}: {task.n_samples} rows are too few for {outer} outer and {inner} inner folds; fewer --folds, or"
            " more rows"
        )
    return outer, inner


def subsample(task: TaskData, max_rows: int | None) -> TaskData:
    """A stratified sample of at most ``max_rows`` rows; official splits do not survive it."""
    from dataclasses import replace

    if max_rows is None or task.n_samples <= max_rows:
        return task
    seed = seed_for("rows", task.name, max_rows)
    if task.quantity:
        rows = np.sort(np.random.default_rng(seed).choice(task.n_samples, max_rows, replace=False))
    else:
        rows = stratified_rows(task.y, max_rows, seed)
    names = f"a {'random' if task.quantity else 'stratified'} {SAMPLE} {len(rows):,} of {task.n_samples:,} rows"
    groups = None if task.groups is None else task.groups[rows]
    return replace(
        task, X=task.rows(rows), y=task.y[rows], splits=None, groups=groups, messages=(*task.messages, names)
    )


def stratified_rows(y, n_rows, seed) -> np.ndarray:
    """Row numbers of a stratified sample, at least two of every class.

    >>> y = np.repeat([0, 1], [90, 10])
    >>> np.bincount(y[stratified_rows(y, 20, 0)]).tolist()
    [18, 2]
    """
    rng = np.random.default_rng(seed)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    wanted = np.maximum(np.round(counts * n_rows / len(y)).astype(int), np.minimum(counts, 2))
    picked = [rng.permutation(np.flatnonzero(codes == k))[: wanted[k]] for k in range(len(classes))]
    return np.sort(np.concatenate(picked))
