"""Noise that is not white: photographs whose truth is known (`photos`), and noise that we make (`made`)."""
