"""Pictures of templates and plans; Matplotlib and SciPy are loaded when one is drawn."""
