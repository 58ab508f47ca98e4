"""One experiment from treebank to report: train, resuming what is there, evaluate, predict."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from flax import nnx
from rich.console import Console

from structdep_parser.arrays import named
from structdep_parser.config import Config
from structdep_parser.console import plain
from structdep_parser.data.corpus import Corpus
from structdep_parser.data.held_out import told
from structdep_parser.data.pseudo_projective import decoded
from structdep_parser.data.treebank import Sentence, Treebank, write_predictions
from structdep_parser.evaluation.calibration import Calibration, calibration, draw
from structdep_parser.evaluation.page import write_page
from structdep_parser.evaluation.report import Report, Training
from structdep_parser.evaluation.scores import Evaluation, evaluate, tag_accuracies
from structdep_parser.nn.encoder import layer_class
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.prediction import Predictions, Predictor
from structdep_parser.parsers.reading import Reader
from structdep_parser.parsers.registry import algorithm_of, check
from structdep_parser.parsers.trained_model import FOLDER, TrainedModel
from structdep_parser.training.devices import Devices, agreed
from structdep_parser.training.loggers import Logger
from structdep_parser.training.progress import Progress
from structdep_parser.training.run_treebank import check_files, check_source, keep_files, with_earlier_treebank
from structdep_parser.training.runs import Run
from structdep_parser.training.step import State
from structdep_parser.training.trainer import Epoch, Trainer, epochs
from structdep_parser.training.warm_start import warm_started


class Experiment:
    """A configuration on a treebank, with the folder of the run."""

    def __init__(
        self,
        config: Config,
        treebank: Treebank,
        folder: str | Path,
        console: Console | None = None,
        devices: Devices | None = None,
    ) -> None:
        self.console = console or plain()
        self.parser = algorithm_of(config)
        self.corpus, self.config = Corpus.of(treebank, config, self.parser.learns_parts)
        config = self.config
        layer_class(config.encoder_layer)  # a name that is wrong leaves no folder of this configuration
        if config.init_from and not Path(folder).is_dir():
            TrainedModel.load(Path(config.init_from))
        check_files(treebank, Path(folder))
        self.config = config = with_earlier_treebank(config, Path(folder))
        self.run = Run(folder, config)
        keep_files(treebank, self.run.folder)
        self.trainer = Trainer(config, self.corpus, self.parser, self._trees(), devices)
        if config.init_from and not self.run.has_begun:
            start = TrainedModel.load(Path(config.init_from))
            check_source(start.config, treebank, config.init_from)
            self.trainer.parameters = warm_started(self.trainer.parameters, self.corpus.vocabulary, config, start)
        trained, dev = (len(self.corpus.splits.get(split, ())) for split in ("train", "dev"))
        self.no_dev = "" if treebank.dev else told(treebank.held_out, trained, dev)
        merge, identity = partial(nnx.merge, self.trainer.graph), part(self.trainer.identity, "evaluation")
        reader = Reader(merge, self.corpus.vocabulary, self.corpus.features, config.alone, identity)
        self.predictor = Predictor(merge, self.parser.decoder(), reader, identity=identity)

    @property
    def _evaluated(self) -> list[str]:
        return [name for name in self.corpus.splits if name != "train"]

    def _trees(self) -> list[np.ndarray]:
        trees = self.run.trees()
        if trees is None:
            if not self.parser.finds_all_trees:
                self.console.print("finding the nearest trees of the parser's class")
            trees = self.parser.trees(self.corpus.splits["train"], self.corpus.vocabulary)
            self.run.keep_trees(trees)
        return trees

    def train(self, minutes: float | None = None, logger: Logger | None = None) -> None:
        """Train until the last epoch, or until `minutes` have passed in this call; what is saved is not done again.

        Other processes that share the training have to `train_as_worker` meanwhile. The logger is told each epoch, and
        is finished at the end. Raises ValueError where another process trains in the same folder.
        """
        if self.no_dev:
            self.console.print(self.no_dev)
        try:
            with self.run.alone():
                self._train(minutes, logger)
        finally:
            if logger:
                logger.finish()

    def _train(self, minutes: float | None, logger: Logger | None) -> None:
        done, first = self.run.last(self.trainer.start())
        agreed((done, first))
        before = self.run.log()[-1]["minutes"] if done else 0.0
        if done == self.config.epochs:
            self.console.print("the run is finished already: its report follows")
        elif done:
            self.console.print(f"resuming after epoch {done} of {self.config.epochs}")
        with Progress(self.console, done + 1, self.config.epochs, before) as progress:
            for epoch, state, result in epochs(self.trainer, first, done, progress.show):
                spent = progress.minutes
                entry = self._evaluate(epoch, state, result, progress)
                if logger:
                    logger.log({"epoch": epoch, **entry}, entry["step"])
                if agreed(minutes is not None and spent - before >= minutes):
                    break

    def _evaluate(self, epoch: int, state: State, result: Epoch, progress: Progress) -> dict[str, Any]:
        """Parse dev, if there is one, save the state, and tell the figures."""
        minutes = progress.minutes
        if "dev" in self.corpus.splits:
            progress.say(epoch, "parsing dev")
        entry: dict[str, Any] = {
            "step": int(state.step),
            "minutes": round(minutes, 3),
            "sentences_per_second": round(result.sentences / result.seconds, 1),
            "loss": result.loss,
            **self._dev_scores(state),
        }
        self.run.save(epoch, state, entry)
        speed = f"{entry['sentences_per_second']:6.0f} sentences/s"
        scores = f"loss {result.loss:.3f}"
        if "uas" in entry:
            scores += f"  dev UAS {entry['uas']:.2f}  LAS {entry['las']:.2f}"
        self.console.print(progress.line(epoch, f"{speed}  {scores}"))
        return entry

    def _dev_scores(self, state: State) -> dict[str, float]:
        """UAS and LAS in per cent; none where no sentences are held out."""
        sentences = self.corpus.splits.get("dev")
        if sentences is None:
            return {}
        dev = evaluate(sentences, self._parse(state, sentences))
        return {"uas": 100 * dev.all.uas, "las": 100 * dev.all.las}

    def report(self, decoding: Decoding | None = None) -> Report:
        """Parse dev and test with the best checkpoint; write the model, the trees, report.md, .json and .html.

        Files of another decoder than argmax, or of a beam, have its name. Raises ValueError for a decoding that the
        parser has not.
        """
        decoding = decoding or Decoding()
        check(self.config, decoding)
        epoch, state = self.run.best(self.trainer.start())
        TrainedModel(self.config, self.corpus.vocabulary, named(state.average)).save(self.run.folder / FOLDER)
        predictor, trainer = self.predictor, self.trainer
        evaluations: dict[str, Evaluation] = {}
        calibrations: dict[str, Calibration] = {}
        seconds = {"training": {"compiling": trainer.compiling, "steps": trainer.spent}, "evaluation": {}}
        for split in self._evaluated:
            scoring, spent = predictor.scoring, predictor.decoding
            predictions = self._predict(state, split, replace(decoding, tags=self.config.tags != "off"))
            seconds[split] = {"scoring": predictor.scoring - scoring, "decoding": predictor.decoding - spent}
            sentences = self.corpus.splits[split]
            tags = tag_accuracies(sentences, predictions.tags) if predictions.tags else {}
            evaluations[split] = replace(evaluate(sentences, predictions), tags=tags)
            if decoding.confidence:
                calibrations[split] = calibration(sentences, predictions)
        seconds["evaluation"] = {"compiling": predictor.compiling}
        log = self.run.log()
        speed = float(np.median([entry["sentences_per_second"] for entry in log]))
        training = Training(epoch, log[-1]["minutes"], speed)
        report = Report(self.config, decoding, training, evaluations, calibrations, seconds, no_dev=self.no_dev)
        report.write(self.run.folder, decoding.ending)
        if evaluations:
            gold = {split: self.corpus.splits[split] for split in self._evaluated}
            write_page(self.run.folder, decoding.ending, gold)
        if calibrations:
            draw(calibrations, self.run.folder / f"calibration{decoding.ending}.svg")
        return report

    def _predict(self, state: State, split: str, decoding: Decoding) -> Predictions:
        """Parse a split, and write its trees."""
        sentences = self.corpus.splits[split]
        made = self._parse(state, sentences, decoding)
        misc = [confidence.misc() for confidence in made.confidences] or None
        write_predictions(
            self.run.folder / f"{split}{decoding.ending}.conllu", sentences, made.heads, made.deprels, misc
        )
        return made

    def _parse(self, state: State, sentences: Sequence[Sentence], decoding: Decoding | None = None) -> Predictions:
        made, scheme = self.predictor(state.average, sentences, decoding), self.config.pseudo_projective
        if scheme is None:
            return made
        heads, deprels = decoded(made.heads, made.deprels, scheme)
        return replace(made, heads=heads, deprels=deprels)
