from seal.predictors.srl import SrlPredictor
