"""Reports of users, reproduced with real compilers and torch: the error, its answer, and the advice carried out."""
