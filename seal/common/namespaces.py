"""
Namespaces of the vocabulary of multi-label data.
"""

# AllenNLP gives no padding entry to namespaces that end in "labels".
#: The labels of instances.
LABELS = "labels"
#: The attributes that are features, of data with a row of numbers an instance.
ATTRIBUTES = "attribute_labels"
