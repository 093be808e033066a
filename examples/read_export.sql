-- Reads what `benchflow export jobs -o table` wrote:  duckdb table/index.duckdb < examples/read_export.sql
-- (without the duckdb program: examples/read_export.ipynb does the same in Python)

-- Who resolves how much. Errors of the infrastructure count against nobody.
SELECT agent, model,
       count(*) FILTER (verdict = 'resolved') AS resolved,
       count(*) FILTER (verdict <> 'error')   AS trials,
       count(*) FILTER (verdict = 'error')    AS errors
FROM trials GROUP BY ALL ORDER BY resolved DESC, agent, model;

-- How far failed attempts at each task got, most of them first.
SELECT task, furthest, count(*) AS trials
FROM trials WHERE verdict = 'failed'
GROUP BY ALL ORDER BY task, trials DESC, furthest;

-- What could not be read as it should be.
SELECT * FROM problems LIMIT 20;

-- What a column means.
SELECT "column", meaning FROM dictionary WHERE "table" = 'trials' AND "column" IN ('verdict', 'furthest');
