"""Rules with findings that are computed by code: functions that a pass calls with the rule and what it is about.

Their texts and severities are in `catalogue`, with `computed = true`; a test compares both. A module is imported when
it is used, since a plain scan needs none of them."""
