"""A metric learned together with its separators: the solvers of `FSVM`, one file for each value of its `solver`, and Algorithm 1.

`problem` is what they solve and `norm` what eliminating the metric leaves; `matrix_newton` and `proximal_newton` serve `exact`.
"""
