"""Packaging of seal. The tested version of everything is in requirements.txt; see there about `--no-deps`."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent

# Run rather than imported: importing seal needs AllenNLP and torch, which need not be there yet.
VERSION: dict = {}
exec((HERE / "seal" / "version.py").read_text(encoding="utf-8"), VERSION)

README = HERE / "README.md"

setup(
    name="seal",
    version=VERSION["VERSION"],
    description="Structured prediction with energy networks as losses: an AllenNLP plugin",
    long_description=README.read_text(encoding="utf-8") if README.is_file() else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=find_packages(include=["seal", "seal.*"]),
    package_data={"seal.commands": ["demo_page.html"]},
    python_requires=">=3.11,<3.13",
    # What seal works with, not what AllenNLP declares: a resolver that obeys AllenNLP's caps finds nothing,
    # so requirements.txt is the way to install.
    install_requires=[
        "allennlp==2.10.1",
        "allennlp-models==2.10.1",
        "torch>=2.7",
        "torchvision>=0.22",
        "transformers>=4.43,<4.50",
        "tokenizers>=0.19",
        "nltk>=3.9",
        "spacy>=3.8",
        "numpy>=2.0",
        "scipy>=1.14",
        "scikit-learn>=1.5",
        "pillow>=11",
        "jsonnet>=0.20",
        "tqdm>=4.66",
        "matplotlib>=3.9",
        "markdown-it-py>=3",
        "tensorboardX>=2.6",
        "wandb>=0.18",
        "setuptools<81",
    ],
    entry_points={"console_scripts": ["seal=seal.__main__:run"]},
    extras_require={"dev": ["pytest>=8", "pytest-xdist>=3.6", "pyflakes>=3.2", "hypothesis>=6.100", "pandas>=2.2"]},
    classifiers=[
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
