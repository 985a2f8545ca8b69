"""The models that need a conic program, one file for each, named like the models' own.

`program` is the adapter to the conic solver, `margin` what the models share; `rsvm_duals` and `far_pairs` serve `rsvm`.
"""
