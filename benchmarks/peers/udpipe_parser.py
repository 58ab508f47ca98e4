"""UDPipe 1 as a program of its own: `python benchmarks/peers/udpipe_parser.py train | parse ...`.

Trees may be non-projective (transitions that swap words). The network has one hidden layer over words and relations, in
UDPipe's default sizes. It has no characters, which UDPipe's parser cannot read, and no tags.
"""

import sys
from pathlib import Path

from ufal import udpipe

OPTIONS = {
    "transition_system": "swap",
    "transition_oracle": "static_lazy",
    "use_gold_tags": 1,  # it predicts none; their embeddings have no units
    "embedding_upostag": 0,
    "embedding_feats": 0,
    "embedding_xpostag": 0,
}


def train(path: str, epochs: str, train: str, dev: str) -> None:
    options = ";".join(f"{name}={value}" for name, value in (OPTIONS | {"iterations": epochs}).items())
    error = udpipe.ProcessingError()
    model = udpipe.Trainer.train(
        "morphodita_parsito", sentences(train), sentences(dev), udpipe.Trainer.NONE, udpipe.Trainer.NONE, options, error
    )
    refuse(error)
    Path(path).write_bytes(model)


def sentences(path: str) -> udpipe.Sentences:
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText(Path(path).read_text(encoding="utf-8"))
    found, sentence = udpipe.Sentences(), udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        found.append(sentence)
        sentence = udpipe.Sentence()
    refuse(error)
    return found


def parse(path: str, source: str, target: str) -> None:
    model = udpipe.Model.load(path)
    if model is None:
        raise ValueError(f"{path} is no model of UDPipe")
    error = udpipe.ProcessingError()
    pipeline = udpipe.Pipeline(model, "conllu", udpipe.Pipeline.NONE, udpipe.Pipeline.DEFAULT, "conllu")
    Path(target).write_text(pipeline.process(Path(source).read_text(encoding="utf-8"), error), encoding="utf-8")
    refuse(error)


def refuse(error: udpipe.ProcessingError) -> None:
    if error.occurred():
        raise ValueError(error.message)


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(*sys.argv[2:])
    else:
        parse(*sys.argv[2:])
