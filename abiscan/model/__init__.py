"""The frozen values that one stage hands to the next; each module imports only those before it.

The JSON report is a separate, versioned copy of these types (`report/json_v1.py`), so that a field can be renamed here
without breaking a user's dashboard.
"""
