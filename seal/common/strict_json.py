"""
JSON as it is read everywhere: no object gives a key twice.
"""

import json
from typing import Any, Dict, List, Tuple

from allennlp.common.checks import ConfigurationError

from seal.common.quoting import short


def read_json(line: str, complaint: str, where: str = "") -> Any:
    """
    # Parameters

    line : `str`
    complaint : `str`
        What the sentence says where the line is not JSON.
    where : `str`, optional (default = `""`)
        `file:line`, for messages.

    # Raises

    `ConfigurationError` with a sentence for what is wrong.
    """
    start = f"{where}: " if where else ""

    def once_each(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            seen = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))
            raise ConfigurationError(f"{start}{short(twice)} is given twice.")
        return record

    try:
        # Else what is missing at the end of the line is said to be missing in another.
        return json.loads(line.rstrip("\r\n"), object_pairs_hook=once_each)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{start}{complaint}: {error.msg} at character {error.colno}.") from error
    except RecursionError as error:
        raise ConfigurationError(f"{start}the JSON is nested too deeply.") from error
    except ValueError as error:
        raise ConfigurationError(f"{start}the JSON has a number of too many digits.") from error
