"""
Reads and writes files: text lines, columns, CSV and JSON records, compressed files, weights, runs and taxonomies.
"""
