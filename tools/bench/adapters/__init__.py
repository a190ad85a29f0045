"""One module per contender: its own way to do the same few things (see `measure.Client`). No two share more than a socket."""
