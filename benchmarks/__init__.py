"""Races and tables: `python -m benchmarks NAME`. Outside the library, on its public names only.

Nothing heavy is imported here: `__main__` must limit the threads of the linear algebra before NumPy is loaded.
"""
