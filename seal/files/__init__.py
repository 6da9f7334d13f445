"""
Files: their lines, columns and packed forms, names as people write them, and files that are written whole or not at
all.
"""
