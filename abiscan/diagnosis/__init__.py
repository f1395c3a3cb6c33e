"""Finds causes, evidence and fixes for missing imports and error messages.

`file_causes.diagnose` is for a file with resolved imports, `readings.answer_text.answer` for a text: a symbol, an error
message, a whole log. Both run the modules of `causes.MODULES` for each name (`symbol_causes.causes_of`), with a
`Knowledge` of the target, the releases and the machine."""
