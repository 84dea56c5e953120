"""The pictures of the concept pages: drawn from data, as SVG without fonts or scripts."""
