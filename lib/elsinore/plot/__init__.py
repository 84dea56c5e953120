"""Pictures of templates; Matplotlib is loaded when one is drawn."""
