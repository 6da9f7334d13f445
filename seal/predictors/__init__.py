from seal.predictors.multilabel import MultilabelPredictor
from seal.predictors.srl import SrlPredictor
