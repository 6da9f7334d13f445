"""Energies of whole outputs, each with few parameters and in a file of its own."""
