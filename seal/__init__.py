"""
Structured prediction with energy networks as losses: a library for torch, and an AllenNLP plugin.

The core needs torch and NumPy alone: output spaces, energies, losses, samplers, scores, nets, structure, hypergradients
and the step of two players. Import what you need of it, such as `seal.losses`. Models, readers, predictors and trainers
are AllenNLP's room: configs name what is in there, and `seal.plugin` opens it as soon as AllenNLP is
used. `docs/architecture.md` has the plan.
"""

from seal import fast_log1p, plugin
from seal.version import VERSION as __version__

__all__ = ["__version__"]

fast_log1p.load_special_values()
plugin.install()
