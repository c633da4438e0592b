"""The basis of the end-to-end checks: media, origins, the command, a client, and one line of output per check."""
