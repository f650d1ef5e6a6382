"""What all parts share: data, jobs in processes of their own, CSV files, tables and plots."""
