"""Voices of models, written before the parser that they test. DIGEST has the SHA-256 of forms.py and voices.py."""
