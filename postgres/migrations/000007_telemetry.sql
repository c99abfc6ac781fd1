-- Lines, invocations and spans of workers (core/telemetry.ts), written by the API process alone, in batches and one
-- batch at a time: so the numbers of rows are in the order of commits. A partition a day, made by the API process:
-- control/telemetry/partitions.ts.
SET LOCAL search_path = control;

CREATE SEQUENCE telemetry_seq;

CREATE TABLE log_line (
  seq bigint NOT NULL DEFAULT nextval('control.telemetry_seq'),
  at timestamptz NOT NULL,
  project_id text NOT NULL,
  deployment_id text NOT NULL,
  branch text NOT NULL,
  -- 0 debug, 1 info, 2 warn, 3 error
  level smallint NOT NULL,
  kind text,
  route text NOT NULL,
  invocation text,
  trace_id text,
  text text NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX log_line_at ON log_line (project_id, at, seq);
CREATE INDEX log_line_seq ON log_line (project_id, seq);
CREATE INDEX log_line_invocation ON log_line (project_id, invocation) WHERE invocation IS NOT NULL;
CREATE INDEX log_line_trace ON log_line (project_id, trace_id) WHERE trace_id IS NOT NULL;

CREATE TABLE invocation (
  seq bigint NOT NULL DEFAULT nextval('control.telemetry_seq'),
  at timestamptz NOT NULL,
  project_id text NOT NULL,
  deployment_id text NOT NULL,
  branch text NOT NULL,
  invocation text NOT NULL,
  kind text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  route text NOT NULL,
  -- 0: no request
  status smallint NOT NULL,
  -- ok, or the code it failed with
  outcome text NOT NULL,
  error text NOT NULL,
  cpu_ms real NOT NULL,
  wall_ms real NOT NULL,
  trace_id text
) PARTITION BY RANGE (at);
CREATE INDEX invocation_at ON invocation (project_id, at, seq);
CREATE INDEX invocation_seq ON invocation (project_id, seq);
CREATE INDEX invocation_id ON invocation (project_id, invocation);
CREATE INDEX invocation_trace ON invocation (project_id, trace_id) WHERE trace_id IS NOT NULL;

CREATE TABLE span (
  seq bigint NOT NULL DEFAULT nextval('control.telemetry_seq'),
  at timestamptz NOT NULL,
  project_id text NOT NULL,
  deployment_id text NOT NULL,
  branch text NOT NULL,
  trace_id text NOT NULL,
  span_id text NOT NULL,
  parent_id text,
  -- The first of its trace on this platform.
  is_root boolean NOT NULL,
  name text NOT NULL,
  -- By the numbers of OpenTelemetry.
  kind smallint NOT NULL,
  ms double precision NOT NULL,
  error text,
  invocation text NOT NULL,
  attributes jsonb NOT NULL,
  links text[] NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX span_root ON span (project_id, at, seq) WHERE is_root;
CREATE INDEX span_trace ON span (project_id, trace_id);
CREATE INDEX span_seq ON span (project_id, seq);

-- What was written and dropped of a project by hour; `bytes` are about those on the disk, without indexes.
CREATE TABLE telemetry_hour (
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  lines bigint NOT NULL DEFAULT 0,
  invocations bigint NOT NULL DEFAULT 0,
  spans bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  dropped_lines bigint NOT NULL DEFAULT 0,
  dropped_invocations bigint NOT NULL DEFAULT 0,
  dropped_spans bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, hour)
);
