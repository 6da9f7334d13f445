"""
Reads and writes files: text lines, columns, CSV and JSON records, compressed files, weights and matrices, atomic
writes, and the cache of parsed arrays.
"""
