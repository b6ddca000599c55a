"""Statistics of the comparison: which method is better, on which data, and how sure that is.

On one dataset: `row_losses` brings predictions into one form, `ties` finds the methods that cannot be
distinguished from the best, `paired` compares two methods or several with one named beforehand, and
`intervals` bounds an error rate. Over datasets: `ranks` and `bayesian`, on tables as described in `tables`;
`diagram` and `pareto` prepare what is drawn. Losses, errors and costs are lower for better methods
throughout.
"""
