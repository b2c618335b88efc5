"""The tests; a package so that they find the browser's driver whatever else is installed."""
