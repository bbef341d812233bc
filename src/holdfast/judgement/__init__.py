"""From a location or a stream to a judgement: collect a case, judge it, say what to do."""
