"""Makes commands: to install, build and replace torch and packages."""
