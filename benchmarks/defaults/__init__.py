"""What FBTWSVM() costs and reaches without tuning: seconds, the order of the rows, beside a tuned SVC."""
