-- Which invocations came nearest to their budget, and how many used how much: of each row of the ledger.
SET LOCAL search_path = control;

ALTER TABLE usage
  -- Invocations by their CPU: counts by bucket (core/cpu-histogram.ts), without the zeros at the end.
  ADD COLUMN cpu_counts bigint[] NOT NULL DEFAULT '{}',
  -- At most three {id, at, cpuMs, isFailure}, the worst first.
  ADD COLUMN costliest jsonb NOT NULL DEFAULT '[]';
