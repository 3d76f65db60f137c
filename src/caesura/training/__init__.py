"""Training: recipes, batches of examples, the objective, the loop and its checkpoints."""
