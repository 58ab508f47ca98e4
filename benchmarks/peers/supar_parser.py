"""SuPar's biaffine parser as a program of its own: `python benchmarks/peers/supar_parser.py train | parse ...`.

Of the size of ours: about 2.5 million parameters, two BiLSTM layers of 384, words and characters, batches of 250 words.
"""

import os
import sys

os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # SuPar's models hold more than weights

import torch
from supar import Parser
from supar.parsers import BiaffineDependencyParser

SIZES = {
    "feat": ["char"],
    "embed": "",
    "n_embed": 128,
    "n_pretrained": 128,
    "n_char_embed": 64,
    "n_char_hidden": 128,
    "n_feat_embed": 128,
    "n_lstm_hidden": 192,
    "n_lstm_layers": 2,
    "n_arc_mlp": 256,
    "n_rel_mlp": 64,
}
TRAINING = {"lr": 2e-3, "mu": 0.9, "nu": 0.9, "eps": 1e-12, "weight_decay": 0, "decay": 0.75, "decay_steps": 5000}
FORMS = {"tree": True, "proj": False, "partial": False, "punct": True, "verbose": True, "checkpoint": False}


def train(path: str, epochs: str, words: str, train: str, dev: str, test: str) -> None:
    data = {"train": train, "dev": dev, "test": test}
    parser = BiaffineDependencyParser.build(path, build=True, encoder="lstm", **SIZES, **TRAINING, **FORMS, **data)
    parser.train(**data, **FORMS, batch_size=int(words), epochs=int(epochs), patience=100, max_len=None)


def parse(path: str, source: str, target: str) -> None:
    Parser.load(path).predict(data=source, pred=target, tree=True, prob=False)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "train":
        train(*sys.argv[2:])
    else:
        parse(*sys.argv[2:])
