"""Files: lines, columns and packed forms of data, names as people write them, and files that are whole or not there."""
