-- What bindings keep: queues, timers, cron, workflows. Times are milliseconds since 1970, JSON is text. Everything that waits for
-- a moment has the same four columns, and is claimed by one statement (postgres/claim-loop.ts): `lane_id`, `due_at` (null: waits
-- for something else), `lease` (set while somebody works on it, until `due_at`) and `attempt`.
CREATE SCHEMA binding;
SET LOCAL search_path = binding;

-- A lane is what is kept apart and treated alike: a queue, a resource of timers, the cron of a project, a workflow.
CREATE TABLE lane (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  namespace text NOT NULL,
  resource text NOT NULL,
  concurrency integer NOT NULL DEFAULT 0,
  paused integer NOT NULL DEFAULT 0,
  consumed integer NOT NULL DEFAULT 1,
  UNIQUE (kind, namespace, resource)
);

CREATE TABLE queue_message (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  lane_id bigint NOT NULL,
  due_at bigint,
  lease text,
  attempt integer NOT NULL DEFAULT 0,
  message_id text NOT NULL,
  payload text NOT NULL,
  sent_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  ordering_key text,
  project text NOT NULL,
  branch text NOT NULL,
  binding text NOT NULL,
  dead_reason text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX queue_message_due ON queue_message (lane_id, due_at);
CREATE INDEX queue_message_leased ON queue_message (lane_id) WHERE lease IS NOT NULL;
CREATE INDEX queue_message_ordered ON queue_message (lane_id, ordering_key, seq) WHERE ordering_key IS NOT NULL;

CREATE TABLE queue_dedupe (
  lane_id bigint NOT NULL,
  dedupe_id text NOT NULL,
  message_id text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (lane_id, dedupe_id)
);
CREATE INDEX queue_dedupe_expiry ON queue_dedupe (expires_at);

CREATE TABLE timer (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  lane_id bigint NOT NULL,
  due_at bigint,
  lease text,
  attempt integer NOT NULL DEFAULT 0,
  timer_id text COLLATE "C" NOT NULL,
  scheduled_at bigint NOT NULL,
  payload text,
  interval_ms bigint,
  cron text,
  timezone text,
  overlap text,
  project text NOT NULL,
  branch text NOT NULL,
  binding text NOT NULL,
  fired_at bigint,
  outcome text,
  UNIQUE (lane_id, timer_id)
);
CREATE INDEX timer_due ON timer (lane_id, due_at);
CREATE INDEX timer_leased ON timer (lane_id) WHERE lease IS NOT NULL;

CREATE TABLE workflow_execution (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  lane_id bigint NOT NULL,
  due_at bigint,
  lease text,
  attempt integer NOT NULL DEFAULT 0,
  execution_id text COLLATE "C" NOT NULL,
  project text NOT NULL,
  branch text NOT NULL,
  deployment text NOT NULL,
  status text NOT NULL,
  paused integer NOT NULL DEFAULT 0,
  signalled integer NOT NULL DEFAULT 0,
  input text NOT NULL,
  output text,
  error text,
  created_at bigint NOT NULL,
  started_at bigint,
  completed_at bigint,
  UNIQUE (lane_id, execution_id)
);
CREATE INDEX workflow_execution_due ON workflow_execution (lane_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX workflow_execution_leased ON workflow_execution (lane_id) WHERE lease IS NOT NULL;
CREATE INDEX workflow_execution_ended ON workflow_execution (completed_at) WHERE completed_at IS NOT NULL;

CREATE TABLE workflow_step (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  execution_seq bigint NOT NULL REFERENCES workflow_execution ON DELETE CASCADE,
  name text NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  result text,
  error text,
  wake_at bigint,
  event_type text,
  started_at bigint NOT NULL,
  ended_at bigint,
  UNIQUE (execution_seq, name)
);

CREATE TABLE workflow_event (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  execution_seq bigint NOT NULL REFERENCES workflow_execution ON DELETE CASCADE,
  type text NOT NULL,
  payload text NOT NULL,
  sent_at bigint NOT NULL
);
CREATE INDEX workflow_event_execution ON workflow_event (execution_seq, type, seq);

CREATE TABLE workflow_log (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  execution_seq bigint NOT NULL REFERENCES workflow_execution ON DELETE CASCADE,
  at bigint NOT NULL,
  message text NOT NULL,
  content text
);
CREATE INDEX workflow_log_execution ON workflow_log (execution_seq, seq);

-- State: text and bytes come back as what they were put, so a value is bytes and a word on which of the two it was.
CREATE TABLE state (
  namespace text NOT NULL,
  resource text NOT NULL,
  key text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  is_text boolean NOT NULL,
  metadata text,
  expires_at bigint,
  version text NOT NULL,
  PRIMARY KEY (namespace, resource, key)
);
CREATE INDEX state_expiry ON state (expires_at) WHERE expires_at IS NOT NULL;

-- Engines share memory with hostile code: their role reaches this schema and nothing else.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'platform_engine') THEN
    CREATE ROLE platform_engine NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;
END $$;
GRANT USAGE ON SCHEMA binding TO platform_engine;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA binding TO platform_engine;
ALTER DEFAULT PRIVILEGES IN SCHEMA binding GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO platform_engine;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
