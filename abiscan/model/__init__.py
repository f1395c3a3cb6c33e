"""Frozen values that the stages of a run exchange.

The JSON report uses the same names. `report/json_report.py` lists the fields of the report and has its schema version.
"""
