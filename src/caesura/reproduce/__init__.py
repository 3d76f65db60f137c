"""The paper's tables and figures again: trainings, results in a CSV, and the page made of it."""
