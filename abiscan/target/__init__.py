"""What a file is judged in: the torch that its imports are resolved against, and who says so."""
