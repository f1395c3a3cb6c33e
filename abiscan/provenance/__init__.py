"""Build properties of a file, read only from the file: compilers, ABIs, GPU code, minimum versions, operators."""
