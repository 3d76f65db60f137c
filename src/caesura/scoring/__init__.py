"""How good a model is: the NLL of gaps, the calibration of probabilities, scores of draws."""
