"""The features that members of a search share: the data themselves, or a kernel map fitted to the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone

from ..kernels import KernelMap
from ..models.components import left_out_matters, map_all_features, map_features
from ..models.fsvm import FSVM, feature_scatter
from .family import fit_family


@dataclass(frozen=True)
class FeatureSet:
    """Features that several members share: one kernel map, of which each of `parts` takes leading columns.

    A part is an n_components and the exponents that share its columns. The default number depends on the exponent, so that
    every exponent is a part of its own then, in increasing order: each takes fewer columns than the one before. At
    exponent 0 it also depends on whether only inner products matter (`euclidean`).
    """

    gamma: float | str | None
    n_components: int | float | None
    parts: tuple
    euclidean: bool | None = None

    def serves(self, scatter, eta):
        return self.euclidean in (None, scatter == "total" and eta == 0)

    def fit(self, search, X, weight, whitening=None):
        """`Features` of the training rows X, for all parts, or for those from an exponent on."""
        if search._is_linear:
            return Features(X, weight, None, X)
        mapping = self.mapping(search, whitening)
        return Features(X, weight, mapping, map_features(mapping, X, weight, euclidean=bool(self.euclidean)))

    def mapping(self, search, whitening=None):
        """The map, not fitted yet."""
        mapping = FSVM(
            kernel=search.kernel, gamma=self.gamma, degree=search.degree, coef0=search.coef0,
            n_components=self.n_components, random_state=search.random_state,
            whitening=self.parts[0][1][0] if whitening is None else whitening,
        )._make_kernel_map()  # fmt: skip
        return mapping.set_params(basis="any") if self.euclidean else mapping


def feature_sets(search):
    """All feature sets that the grids of a search ask for."""
    powers = exponents(search)
    if search._is_linear:
        return [FeatureSet(None, None, ((None, powers),))]
    numbers = sorted(int(m) for m in listed(search.n_components) if isinstance(m, Integral))
    sets = []
    for gamma in listed(search.gamma):
        if numbers:
            sets.append(FeatureSet(gamma, max(numbers), tuple((m, powers) for m in numbers)))
        for m in listed(search.n_components):
            if m is None and not hasattr(search.kernel, "fit_transform"):
                sets += _default_sets(search, gamma, powers)
            elif not isinstance(m, Integral):
                sets.append(FeatureSet(gamma, m, ((m, powers),)))
    return sets


def _default_sets(search, gamma, powers):
    forms = [(scatter, eta) for scatter in listed(search.scatter) for eta in listed(search.eta)]
    kinds = sorted({form[0] == "total" and form[1] == 0 for form in forms}) if 0 in powers else []
    sets = [FeatureSet(gamma, None, ((None, (0.0,)),), kind) for kind in kinds]
    whitened = tuple((None, (p,)) for p in sorted(powers) if p > 0)
    return [*sets, FeatureSet(gamma, None, whitened)] if whitened else sets


class Features:
    """Features `rows` of the training rows X, the map that made them, and the members of the family on them."""

    def __init__(self, X, weight, mapping, rows):
        self.X, self.weight, self.mapping, self.rows = X, weight, mapping, rows
        self.gram = mapping.__dict__.pop("gram_", None) if isinstance(mapping, KernelMap) else None

    def of(self, X):
        """Features of other rows."""
        return X if self.mapping is None else self.mapping.transform(X)

    def part(self, n_components, powers):
        """Those of members with a number of components, or with the default of their exponent."""
        if isinstance(n_components, Integral):
            return self._leading(n_components)
        if n_components is not None or not isinstance(self.mapping, KernelMap) or powers[0] == self.mapping.whitening:
            return self
        if self.mapping.engine_ != "cholesky":
            return self._leading(self.mapping.components_at(powers[0]))
        mapping = clone(self.mapping).set_params(whitening=powers[0])  # where its pivots end depends on the exponent
        return Features(self.X, self.weight, mapping, mapping.fit_features(self.X, self.weight))

    def _leading(self, size):
        """The same with the leading columns only; its map makes more of them."""
        return Features(self.X, self.weight, self.mapping, self.rows[:, :size])

    def scatter(self, codes, kind):
        return feature_scatter(self.mapping, self.rows, codes, self.weight, kind)

    def fit_family(self, columns, space, powers, Cs, *, euclidean=False, **options):
        """[(features, numbers of Cs, FamilyFit)]: one entry, or two where some members need all components of a kernel.

        Which do is decided for every member as `FSVM` decides it.
        """
        fit = fit_family(
            self.rows, columns, self.weight, space, powers, Cs, gram=self.gram, keep_alpha=bool(euclidean), **options
        )
        numbers = np.arange(len(Cs))
        if not euclidean:
            return [(self, numbers, fit)]
        small = np.array([not left_out_matters(self.mapping, self.X, columns, fit.batch.alpha[:, j]) for j in numbers])
        parts = [(self, numbers[small], fit.at(small))] if small.any() else []
        if not small.all():
            mapping = clone(self.mapping)
            all_of_it = Features(self.X, self.weight, mapping, map_all_features(mapping, self.X, self.weight))
            space = all_of_it.scatter(None, "total")
            parts += [
                (features, numbers[~small], found)
                for features, _, found in all_of_it.fit_family(
                    columns, space, powers, np.asarray(Cs)[~small], **options
                )
            ]
        return parts


def exponents(search):
    """The grid of whitening, or its default: with a kernel nothing was gained by it (benchmarks/accuracy.py)."""
    if search.whitening is None:
        return (0.0, 0.25, 0.5, 0.75, 1.0) if search._is_linear else (0.0,)
    return tuple(float(p) for p in listed(search.whitening))


def check_grid(name, value):
    """One value, or a flat list of some."""
    try:
        empty = len(listed(value)) == 0
    except TypeError:  # neither a list nor a value, or a list of lists
        raise ValueError(f"{name} must be a value or a list of values, got {value!r}.") from None
    if empty:
        raise ValueError(f"{name} must not be empty.")


def listed(value):
    """A list from a list, without repetitions, or from a single value."""
    return [value] if value is None or isinstance(value, (str, Real)) else list(dict.fromkeys(value))
