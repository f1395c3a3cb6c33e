"""One module a theme of causes; `diagnosis.registry` lists them."""
