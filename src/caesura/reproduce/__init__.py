"""The paper's tables and figures: trainings, results in a CSV file, and the page made from it."""
