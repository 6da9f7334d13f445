"""
Namespaces of the vocabulary.
"""

# AllenNLP gives no padding entry to namespaces that end in "labels".
#: The labels of instances.
LABELS = "labels"
#: The attributes that are features, of data with a row of numbers an instance.
ATTRIBUTES = "attribute_labels"
#: How the training data write brackets, quotes and the like (`seal.common.written_forms`).
WRITTEN = "written_form_labels"
