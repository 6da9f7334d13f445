"""Segmentation: predicts the foreground mask of an image."""

from seal.tasks.segmentation.mask_score import MaskScore
from seal.tasks.segmentation.model import SegmentationModel
from seal.tasks.segmentation.predictor import SegmentationPredictor
from seal.tasks.segmentation.reader import SegmentationReader
