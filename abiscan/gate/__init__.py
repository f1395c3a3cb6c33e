"""Report x policy x baseline -> verdict. Uses only the values of `model`.

    policy = config.load_config(text, "pyproject.toml", rules)       # or policy.Policy()
    known = baseline.read_baseline(text, "abiscan-baseline.json")    # or None
    report = apply.apply(report, policy, known, today)               # sets suppressions, stale entries and the verdict

Nothing here reads the clock, the environment or a file. Modules are imported on use, so a run without
configuration, baseline or requirements does not pay for them.
"""
