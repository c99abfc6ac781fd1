-- Status classes and latency in the ledger of usage, the same by minute, and alerts on latency.
SET LOCAL search_path = control;

ALTER TABLE usage
  -- Requests by status class. `other`: open WebSockets, and clients that left before a response.
  ADD COLUMN status_2xx bigint NOT NULL DEFAULT 0,
  ADD COLUMN status_3xx bigint NOT NULL DEFAULT 0,
  ADD COLUMN status_4xx bigint NOT NULL DEFAULT 0,
  ADD COLUMN status_5xx bigint NOT NULL DEFAULT 0,
  ADD COLUMN status_other bigint NOT NULL DEFAULT 0,
  -- Time to first byte and to the end of the response: the buckets that are not empty (`latencyScale` of
  -- core/histogram.ts), and their counts.
  ADD COLUMN first_byte_buckets smallint[] NOT NULL DEFAULT '{}',
  ADD COLUMN first_byte_counts bigint[] NOT NULL DEFAULT '{}',
  ADD COLUMN answer_buckets smallint[] NOT NULL DEFAULT '{}',
  ADD COLUMN answer_counts bigint[] NOT NULL DEFAULT '{}';

-- Kept for two days: control/usage/collect.ts.
CREATE TABLE usage_minute (
  minute timestamptz NOT NULL,
  project_id text NOT NULL,
  deployment_id text NOT NULL,
  kind text NOT NULL,
  route text NOT NULL,
  invocations bigint NOT NULL,
  failures bigint NOT NULL,
  status_2xx bigint NOT NULL,
  status_3xx bigint NOT NULL,
  status_4xx bigint NOT NULL,
  status_5xx bigint NOT NULL,
  status_other bigint NOT NULL,
  cpu_ms double precision NOT NULL,
  host_cpu_ms double precision NOT NULL,
  cpu_ms_max double precision NOT NULL,
  first_byte_buckets smallint[] NOT NULL,
  first_byte_counts bigint[] NOT NULL,
  answer_buckets smallint[] NOT NULL,
  answer_counts bigint[] NOT NULL,
  PRIMARY KEY (project_id, minute, deployment_id, kind, route)
);
CREATE INDEX usage_minute_minute ON usage_minute (minute);

-- Null: an event, or from before this column.
ALTER TABLE invocation ADD COLUMN first_byte_ms real;

ALTER TABLE alert_rule DROP CONSTRAINT alert_rule_kind_check;
ALTER TABLE alert_rule ADD CONSTRAINT alert_rule_kind_check
  CHECK (kind IN ('error_rate', 'latency', 'cpu_budget', 'certificate', 'disk'));
