"""
Structured prediction with energy networks as losses: an AllenNLP plugin.

Importing `seal` patches AllenNLP for current libraries (`seal.compat`), reports a user's mistake in one sentence
(`seal.config_keys`, `seal.whole_configs`, `seal.unusable_files`, `seal.command_line`, `seal.user_errors`), opens
archives safely (`seal.safe_archives`), keeps a second run out of a folder (`seal.run_lock`) and the folder clean
(`seal.run_folder`), gives data in one order (`seal.loading_order`), names workers that are lost
(`seal.lost_workers`), makes two functions of PyTorch run at their full speed (`seal.fast_log1p`) and imports every
module of the package, so that configs can name everything that is registered here. All this happens here because a
plugins file imports `seal` and none of its submodules; new modules are found automatically.

Where AllenNLP is not installed, nothing of this happens: `seal.structure` needs PyTorch and NumPy alone.
"""

import importlib
import importlib.util
import pkgutil

from seal.version import VERSION as __version__

__all__ = ["__version__"]

if importlib.util.find_spec("allennlp") is not None:
    from seal import compat

    # Before anything else imports AllenNLP.
    compat.apply()

    from seal import command_line, config_keys, fast_log1p, loading_order, lost_workers, run_folder, run_lock
    from seal import safe_archives, unusable_files, user_errors, whole_configs

    for _patching in (config_keys, lost_workers, whole_configs, run_folder, run_lock, unusable_files, safe_archives):
        compat.apply(_patching.PATCHES)
    for _patching in (command_line, loading_order):
        compat.apply(_patching.PATCHES)
    user_errors.install()
    fast_log1p.load_special_values()

    for _module in pkgutil.walk_packages(__path__, prefix=f"{__name__}."):
        importlib.import_module(_module.name)
