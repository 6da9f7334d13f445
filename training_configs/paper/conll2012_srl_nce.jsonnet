local srl = import 'seal/srl.libsonnet';

// SEAL-dynamic (NCE) on CoNLL-2012 (SEAL, NeurIPS 2022, section 4.3): BERT-base twice, 400 samples, one-head
// self-attention energy 256 wide with dropout 0.5, energy weight 0.5, learning rate 1e-5 for both.
local encoder = 'bert-base-uncased';

srl.experiment(
  data=srl.data.conll2012,
  encoder=srl.encoder.transformer(encoder),
  method=srl.method.nce(num_samples=400, energy_weight=0.5),
  training=srl.training.conll2012,
  energies=srl.energies(hidden_dim=256, num_heads=1, pooling='mean', dropout=0.5),
)
