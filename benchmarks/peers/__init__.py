"""Other libraries beside structdep: charts, spanning trees, training and parsing, in one run and on one page."""
