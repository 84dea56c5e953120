"""Pictures of templates and plans; Matplotlib is loaded when one is drawn."""
