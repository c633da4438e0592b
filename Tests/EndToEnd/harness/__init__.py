"""What the end-to-end checks stand on: media, origins, the command, a client, and one line a check."""
