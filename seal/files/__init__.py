"""
Files: their lines, columns and packed forms, names as people write them, files that are written whole or not at all,
and what is kept of them for the next start.
"""
