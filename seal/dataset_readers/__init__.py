from seal.dataset_readers.srl import SrlReader
