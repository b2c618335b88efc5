"""The tests; a package so that they and the bench find the browser's driver whatever else is installed."""
