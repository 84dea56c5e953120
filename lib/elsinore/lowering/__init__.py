"""Static plan and templates to the runtime plan that the engine runs."""
