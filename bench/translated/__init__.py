"""Queries in other languages to albums in English: hand-written translations of development queries."""
