// Feature networks. Each has the token indexers its reader needs and the settings of `Encoder`.
local words_bilstm = import 'bilstm.libsonnet';
local sentences = import 'sentences.libsonnet';

{
  // Word embeddings, character n-grams and a BiLSTM; nothing is downloaded.
  bilstm(
    word_dim=64,
    hidden=96,
    layers=2,
    predicate_dim=16,
    dropout=0.3,
    vectors=null,
    vector_words=100000,
    trainable=true,
    characters=24,
    word_dropout=0.25,
  ): words_bilstm(
    word_dim,
    hidden,
    layers,
    dropout,
    vectors,
    vector_words,
    trainable,
    characters,
    predicate_dim=predicate_dim,
    word_dropout=word_dropout,
  ),

  // Any BERT- or RoBERTa-style model, by its name on the hub or as a local folder. `max_length` is the number of
  // wordpieces that are read at once; it may not be larger than what the model takes. `frozen`: whether its weights are
  // fixed.
  transformer(model_name, max_length=512, frozen=false): {
    rates:
      if frozen then sentences.rates_frozen
      else sentences.rates(1e-4, head_lr=1e-3, scheduler={ type: 'linear_with_warmup', warmup_steps: 200 }),
    indexers: {
      tokens: {
        type: 'pretrained_transformer_mismatched',
        model_name: model_name,
        max_length: max_length,
        // AllenNLP's default is 'tags', which already holds the tags of a tagger. The name has to end in 'tags': that
        // marks a vocabulary without an unknown word, as this one is.
        namespace: 'wordpiece_tags',
      },
    },
    vocabulary: {},
    // There is no vocabulary of words, only one of tags: with dev, a tag that only dev has is scored and not an error.
    vocabulary_from: ['train', 'validation'],
    settings: {
      type: 'transformer',
      model_name: model_name,
      max_length: max_length,
      [if frozen then 'train_parameters']: false,
    },
  },
}
