"""Benchmarks of speed and quality: `python -m benchmarks NAME`. They are not part of the library.

Nothing heavy is imported here: `__main__` must limit the threads of the linear algebra before NumPy is loaded.
"""
