"""The command line: one file per command, no mathematics. Start-up is light; commands import what they need."""
