"""What the product is compared with. Runs in an environment of its own and imports nothing of ours."""
