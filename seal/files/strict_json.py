"""
Strict reading of JSON: an object that gives a key twice is refused.
"""

import json
from collections import Counter
from typing import Any

from seal.common.setting_checks import short
from seal.registry import ConfigurationError


def read_json(line: str, complaint: str, where: str = "") -> Any:
    """
    A line of JSON, parsed. `complaint` is what the message says where it is none, and `where` its `file:line`. A key
    that is given twice, deep nesting and a number of too many digits are errors, too.
    """
    start = f"{where}: " if where else ""

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
            raise ConfigurationError(f"{start}{short(twice)} is given twice.")
        return record

    try:
        # If the line end were kept, an error at the end of the line would be reported at a column of the next line.
        return json.loads(line.rstrip("\r\n"), object_pairs_hook=once_each)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{start}{complaint}: {error.msg} at character {error.colno}.") from error
    except RecursionError as error:
        raise ConfigurationError(f"{start}the JSON is nested too deeply.") from error
    except ValueError as error:
        raise ConfigurationError(f"{start}the JSON has a number of too many digits.") from error
