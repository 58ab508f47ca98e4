"""The network: encoder, scorers, taggers, and their loss."""
