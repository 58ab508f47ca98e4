"""What is asked of a class of trees: values, trees, probabilities, losses."""
