// Data sets of images with masks: where they lie, relative to the working directory, and the sizes of their images and
// of the crops that nets see of them. Where images are of several sizes, there is `resize` in place of `size`: all are
// brought to that size first, as `resize: 32` or, height and width, `[24, 32]`.
local npz(name) = { [split]: 'data/%s/%s.npz' % [name, split] for split in ['train', 'valid', 'test'] };

{
  // Made up, kept in this repository.
  shapes: npz('shapes_sample') { size: 32, crop: 24 },
  // As in Gygli et al. 2017 and SEAL: 32 x 32 pixels, of which nets see 24 x 24.
  weizmann: npz('weizmann_horse') { size: 32, crop: 24 },
}
