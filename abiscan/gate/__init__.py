"""Report x policy x baseline -> verdict. Sees the values of `model` alone.

    policy = config.load_config(text, "pyproject.toml", rules)       # or policy.Policy()
    known = baseline.read_baseline(text, "abiscan-baseline.json")    # or None
    report = apply.apply(report, policy, known, today)               # sets suppressions, stale entries and the verdict

Nothing here reads the clock, the environment or a file. Each module is imported by name where it is used: a run
without a configuration, a baseline or a requirement pays for none of them.
"""
