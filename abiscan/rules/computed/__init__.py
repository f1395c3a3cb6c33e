"""Rules whose findings are computed by code; each has its TOML file in `catalogue` too."""
