"""Facts for the templates and conditions of messages: a function each."""
