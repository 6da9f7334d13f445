"""Packaging of seal. The tested version of everything is in requirements.txt; see there about `--no-deps`."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent

# Run rather than imported: importing seal needs torch, which need not be there yet.
VERSION: dict = {}
exec((HERE / "seal" / "version.py").read_text(encoding="utf-8"), VERSION)

README = HERE / "README.md"

# What is imported with nothing else: output spaces, energies, losses, samplers, nets, structure, hypergradients.
CORE = ["torch>=2.7", "numpy>=2.0"]

# Configs, models, readers, predictors and trainers. What seal works with, not what AllenNLP declares: a resolver that
# obeys AllenNLP's caps finds nothing, so requirements.txt is the way to install these.
ALLENNLP = [
    "allennlp==2.10.1",
    "torchvision>=0.22",
    "transformers>=4.43,<4.50",
    "tokenizers>=0.19",
    "nltk>=3.9",
    "spacy>=3.8",
    "scipy>=1.14",
    "scikit-learn>=1.6",
    "pillow>=11",
    "jsonnet>=0.20",
    "filelock>=3.32",
    "tqdm>=4.66",
    "matplotlib>=3.9",
    "jinja2>=3",
    "markdown-it-py>=3",
    "tensorboardX>=2.6",
    "wandb>=0.18",
]

# A baseline of scripts/measure imports allennlp-models, which needs `pkg_resources`.
MEASURE = ["allennlp-models==2.10.1", "setuptools<81"]

# What shows the logs that the callback `tensorboard` writes.
VIEWER = ["tensorboard>=2.15"]

DEV = ["pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "pandas>=2.2"]

setup(
    name="seal",
    version=VERSION["VERSION"],
    description="Structured prediction with energy networks as losses: a library for torch, and an AllenNLP plugin",
    long_description=README.read_text(encoding="utf-8") if README.is_file() else "",
    long_description_content_type="text/markdown",
    # The code; the models in seal/ready_models.
    license="Apache-2.0 AND CC-BY-SA-4.0",
    license_files=["LICENSE", "seal/ready_models/LICENSE"],
    packages=[
        *find_packages(include=["seal", "seal.*"]),
        "seal.config_library",
        *find_packages("scripts", include=["seal_inspect", "seal_inspect.*"]),
    ],
    # What configs import: in a wheel a folder beside the modules, in a clone `training_configs/lib`.
    package_dir={"seal.config_library": "training_configs/lib", "seal_inspect": "scripts/seal_inspect"},
    # `ready_models`: the models that have a name, each with its card.
    package_data={
        "seal": ["py.typed", "ready_models/*.tar.gz", "ready_models/*.md", "ready_models/LICENSE"],
        "seal.config_library": ["*.libsonnet"],
        "seal_inspect": ["*.html"],
    },
    python_requires=">=3.11,<3.14",
    install_requires=CORE,
    entry_points={
        "console_scripts": ["seal=seal.__main__:run"],
        # Sub-commands of `seal` that look at the package, at models and at runs. The library imports none of them.
        "seal.commands": [
            "compare-networks=seal_inspect.compare_networks",
            "components=seal_inspect.components",
            "demo=seal_inspect.demo",
            "label-interactions=seal_inspect.label_interactions",
            "report=seal_inspect.report",
            "tag-interactions=seal_inspect.tag_interactions",
        ],
    },
    extras_require={
        "allennlp": ALLENNLP,
        "demo": ALLENNLP,
        "measure": [*ALLENNLP, *MEASURE],
        "dev": DEV,
        "viewer": VIEWER,
    },
    classifiers=[
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
