"""What the page of the comparison says around its tables."""

INTRODUCTION = """\
# Other libraries

`make peers` installs other libraries in an environment of their own, runs them beside structdep, and writes this page.
`python -m benchmarks.peers` does the same with the libraries that are installed; `--only charts` measures one part.

All libraries get the same inputs. Programs take turns, so that a busy machine slows all of them alike. On one core,
times are processor times, which other processes on the core do not lengthen. Figures are medians, with their spread:
the quartiles of five runs or more, the least and the greatest of fewer.
"""
TREES = """\
## Trees

Times are milliseconds a sentence. Scores are random, from a normal distribution. Each library has the batch that is the
best for it, of those that were measured. *Difference* compares results with structdep's: the largest difference of
log-partitions (relative above 1) or marginals; for best trees, the share of heads that differ. structdep and SynJax
are compiled by `jax.jit`; compile time does not count. SynJax is compiled without XLA's YNNPACK reductions, as it is
slower with them. The programs in C++ and Cython find best trees, one sentence after the other, in float64.
"""
SIBLINGS = """\
`eisner(siblings=True)` is measured in batches of {batch} sentences only, for all libraries: SuPar takes up to {slowest}
a sentence. A query ends after three rounds if its time is up (`--seconds`); some rows have fewer runs for that reason.
"""
SUMMARY = """\
### Times as multiples of structdep's

Above 1, structdep is faster.
"""
TITLES = {"charts": "### Charts\n", "spanning": "### All trees\n", "parsers": "## Training and parsing\n"}
PROCESSES = """\
Whole processes from the shell on the treebank `{lang}`, each pinned to one core, with one thread; times are processor
times. No program predicts tags. Caches are empty when a run begins; later processes of the run load what the first ones
compiled. Parsed files are checked to have the words of the treebank in their order. LAS says what a parser has learned
after a few epochs, not how good it can get.

structdep and SuPar's biaffine parser have two BiLSTM layers over words and characters, similar sizes, and batches of
250 words. UDPipe 1 has a smaller model: a transition-based parser (with swaps) with one hidden layer over words and
relations, without characters, in its own batches of 10 words. It trains for the same number of epochs.
"""
