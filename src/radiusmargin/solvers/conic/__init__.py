"""Models that are solved as conic programs, one file for each.

`program` is the adapter to the conic solver, with what the models share; `active_set` selects the rows and pairs that matter.
"""
