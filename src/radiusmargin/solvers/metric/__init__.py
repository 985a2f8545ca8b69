"""Solvers that learn a metric together with its separators.

`problem` defines radius-margin problems; `exact` and `alternating` solve them (the values of `solver` of `FSVM`).
`algorithm_one` is the paper's algorithm as printed, `svml` learns the metric of a Gaussian kernel.
"""
