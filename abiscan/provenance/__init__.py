"""How a file was made, from the file alone: compilers, ABIs, GPU code, versions that it needs, operators."""
