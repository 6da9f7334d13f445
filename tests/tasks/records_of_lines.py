def of_lines(predictor, lines):
    """The records of lines, each without the `line` and `input` that it begins with."""
    records = predictor.predict_batch_json([predictor.load_line(line) for line in lines])
    return [{key: value for key, value in record.items() if key not in ("line", "input")} for record in records]
