"""Build properties of a file, from the file alone: compilers, ABIs, GPU code, minimum versions, operators."""
