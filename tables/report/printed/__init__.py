"""Shows what the papers print, beside what their studies give here. The numbers are in the CSV files, as printed."""
