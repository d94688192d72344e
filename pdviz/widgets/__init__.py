"""Everything that paints or is clicked. Paint functions take any QPaintDevice and know no widget."""
