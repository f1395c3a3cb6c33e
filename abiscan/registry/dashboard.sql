-- What `abiscan registry dashboard` shows, as views for DuckDB: `cd DIR && duckdb -init dashboard.sql`. docs/reference/tables.md has the
-- columns. Each table has those of its run and part beside its own.

CREATE OR REPLACE VIEW runs AS
SELECT
    id AS run,
    coalesce("number", 0) AS "number",
    asked.torch AS torch,
    asked.abiscan AS abiscan,
    asked.index AS release_index,
    began,
    ended
FROM read_json(
    'run=*/run.json',
    columns = {
        id: 'VARCHAR',
        asked: 'STRUCT(abiscan VARCHAR, "index" VARCHAR, torch VARCHAR)',
        began: 'VARCHAR',
        ended: 'VARCHAR',
        "number": 'BIGINT'
    }
);

-- A wheel that was looked at again within a run counts with its newest rows.
CREATE OR REPLACE VIEW wheels AS
SELECT *
FROM read_parquet('run=*/part=*/wheels.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
QUALIFY row_number() OVER (PARTITION BY run, path ORDER BY part DESC) = 1;

CREATE OR REPLACE VIEW files AS
SELECT *
FROM read_parquet('run=*/part=*/files.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
SEMI JOIN wheels USING (run, part, path);

CREATE OR REPLACE VIEW imports AS
SELECT *
FROM read_parquet('run=*/part=*/imports.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
SEMI JOIN wheels USING (run, part, path);

CREATE OR REPLACE VIEW findings AS
SELECT *
FROM read_parquet('run=*/part=*/findings.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
SEMI JOIN wheels USING (run, part, path);

CREATE OR REPLACE VIEW causes AS
SELECT *
FROM read_parquet('run=*/part=*/causes.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
SEMI JOIN wheels USING (run, part, path);

CREATE OR REPLACE VIEW compatibility AS
SELECT *
FROM read_parquet('run=*/part=*/compatibility.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
SEMI JOIN wheels USING (run, part, path);

CREATE OR REPLACE VIEW readiness AS
SELECT *
FROM read_parquet('run=*/part=*/readiness.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
SEMI JOIN wheels USING (run, part, path);

CREATE OR REPLACE VIEW errors AS
SELECT *
FROM read_parquet('run=*/part=*/errors.parquet', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
SEMI JOIN wheels USING (run, part, path);

-- The run that the views below are about: of those with tables the newest that came to its end, or the newest where
-- none did.
CREATE OR REPLACE VIEW shown AS
SELECT run FROM runs SEMI JOIN wheels USING (run) ORDER BY ended IS NULL, "number" DESC, began DESC, run DESC LIMIT 1;

-- A package by its normal name (PEP 503); a wheel without metadata by its file's.
CREATE OR REPLACE VIEW packages AS
SELECT
    run,
    path,
    lower(regexp_replace(coalesce(name, split_part(parse_filename(path), '-', 1)), '[-_.]+', '-', 'g')) AS package,
    version,
    verdict,
    gate,
    -- Final releases come before pre-releases (PEP 440). Builds of one release for several platforms are all newest.
    rank() OVER (
        PARTITION BY run, package
        ORDER BY
            regexp_matches(coalesce(version, ''), '[0-9][-_.]?(a|b|c|rc|alpha|beta|pre|preview|dev)'),
            [
                coalesce(try_cast(part AS BIGINT), -1)
                FOR part IN string_split(regexp_extract(coalesce(version, ''), '^v?(?:[0-9]+!)?([0-9.]+)', 1), '.')
            ] DESC
    ) = 1 AS newest
FROM wheels;

-- Whether the newest release of each package that uses torch loads on the torch that it declares: all of its wheels.
CREATE OR REPLACE VIEW newest_releases AS
SELECT
    package,
    any_value(version) AS version,
    count(*) AS wheels,
    CASE
        WHEN bool_or(verdict = 'fails') THEN 'fails'
        WHEN bool_and(verdict = 'loads') THEN 'loads'
        ELSE 'undecided'
    END AS verdict
FROM packages SEMI JOIN shown USING (run)
WHERE newest AND verdict <> 'not-torch'
GROUP BY package
ORDER BY verdict, package;

CREATE OR REPLACE VIEW trend AS
SELECT
    runs.*,
    count(wheels.path) AS wheels,
    count(*) FILTER (verdict = 'loads') AS loads,
    count(*) FILTER (verdict = 'fails') AS fails,
    count(*) FILTER (verdict = 'undecided') AS undecided,
    count(*) FILTER (verdict = 'unreadable') AS unreadable,
    count(*) FILTER (verdict = 'not-torch') AS not_torch,
    sum(bytes_read) AS bytes_read,
    sum(size) AS size,
    sum(cpu_seconds) AS cpu_seconds
FROM runs
LEFT JOIN wheels USING (run)
GROUP BY ALL
ORDER BY "number", began, run;

-- A release works for a wheel where one of its builds does; of a package the share of the wheels of its newest release.
CREATE OR REPLACE VIEW heat AS
SELECT package, torch, avg(works)::FLOAT AS works, count(*) AS wheels, mode(reason) FILTER (reason <> '') AS reason
FROM (
    SELECT path, torch, max(works::INT) AS works, mode(reason) FILTER (NOT works) AS reason
    FROM readiness SEMI JOIN shown USING (run)
    GROUP BY path, torch
)
JOIN (SELECT path, package FROM packages SEMI JOIN shown USING (run) WHERE newest) USING (path)
GROUP BY package, torch;

CREATE OR REPLACE VIEW causes_by_count AS
SELECT
    cause,
    count(DISTINCT path) AS wheels,
    count(DISTINCT (path, member)) AS files,
    mode(fix) AS usual_fix,
    arg_min(summary, path) AS example
FROM causes SEMI JOIN shown USING (run)
GROUP BY cause
ORDER BY wheels DESC, files DESC, cause;

CREATE OR REPLACE VIEW rules_by_count AS
SELECT rule, severity, count(DISTINCT path) AS wheels, count(DISTINCT (path, member)) AS files, count(*) AS findings
FROM findings SEMI JOIN shown USING (run)
WHERE NOT suppressed
GROUP BY rule, severity
ORDER BY wheels DESC, files DESC, rule;

CREATE OR REPLACE VIEW missing_names AS
SELECT
    mangled,
    coalesce(any_value(demangled), mangled) AS name,
    count(DISTINCT path) AS wheels,
    count(DISTINCT (path, member)) AS files,
    mode(exported_in) AS exported_in
FROM imports SEMI JOIN shown USING (run)
WHERE status IN ('missing', 'unreachable')
GROUP BY mangled
ORDER BY wheels DESC, files DESC, mangled;

CREATE OR REPLACE VIEW worst_files AS
SELECT path, member, machine, verdict, torch, unresolved, imports, cause, summary, fix
FROM files
SEMI JOIN shown USING (run)
LEFT JOIN (
    SELECT
        path,
        member,
        arg_max(cause, len(symbols)) AS cause,
        arg_max(summary, len(symbols)) AS summary,
        arg_max(fix, len(symbols)) AS fix
    FROM causes SEMI JOIN shown USING (run)
    GROUP BY path, member
) USING (path, member)
WHERE verdict = 'fails' AND replaced_by IS NULL
ORDER BY unresolved DESC, path, member;

-- A wheel with files of two architectures counts on both.
CREATE OR REPLACE VIEW platforms_by_count AS
SELECT
    machine AS platform,
    count(*) AS wheels,
    count(*) FILTER (verdict = 'loads') AS loads,
    count(*) FILTER (verdict = 'fails') AS fails,
    count(*) FILTER (verdict IN ('undecided', 'unreadable')) AS open,
    count(*) FILTER (verdict = 'not-torch') AS not_torch
FROM (SELECT DISTINCT path, machine FROM files SEMI JOIN shown USING (run) WHERE machine IS NOT NULL)
JOIN (SELECT path, verdict FROM wheels SEMI JOIN shown USING (run)) USING (path)
GROUP BY machine
ORDER BY wheels DESC, platform;

CREATE OR REPLACE VIEW errors_by_count AS
SELECT
    regexp_replace(message, '[0-9a-f]{64}|[0-9]+', '#', 'g') AS kind,
    count(DISTINCT path) AS wheels,
    min(place) AS first_place,
    arg_min(message, place) AS first_message
FROM errors SEMI JOIN shown USING (run)
GROUP BY kind
ORDER BY wheels DESC, kind;
