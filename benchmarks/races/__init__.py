"""Races: our speed against other libraries, one file each."""
