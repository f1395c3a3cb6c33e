"""The frozen values that one stage hands to the next; each module imports only those before it.

The JSON report has the same names; `report/json_report.py` lists the fields that it shows, with a version of its own.
"""
