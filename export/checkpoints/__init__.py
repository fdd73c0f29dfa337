"""What people bring: checkpoints, their configurations and weights by name, and the models that
recipes name.
"""
