-- Where stored lines of a project are sent on: control/drains/.
SET LOCAL search_path = control;

CREATE TABLE log_drain (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  name text NOT NULL,
  -- http or s3, with what of its target is no secret.
  kind text NOT NULL CHECK (kind IN ('http', 's3')),
  target jsonb NOT NULL,
  -- Headers or keys, encrypted.
  secret bytea NOT NULL,
  -- May lead to a private address: an operator has said so.
  is_private boolean NOT NULL DEFAULT false,
  -- Which lines: of this level and above, of these kinds of invocations and this branch; null: all.
  level smallint NOT NULL DEFAULT 0,
  kinds text[],
  branch text,
  enabled boolean NOT NULL DEFAULT true,
  -- The last line that has arrived, or was left out.
  cursor bigint NOT NULL,
  next_at timestamptz NOT NULL DEFAULT now(),
  lease text,
  lease_until timestamptz,
  -- Attempts in a row that failed, and why the last one did.
  failures integer NOT NULL DEFAULT 0,
  status integer,
  error text,
  failed_at timestamptz,
  -- Nothing is sent until somebody switches it on again.
  paused_at timestamptz,
  delivered_at timestamptz,
  delivered_lines bigint NOT NULL DEFAULT 0,
  delivered_bytes bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX log_drain_project ON log_drain (project_id);
CREATE INDEX log_drain_next ON log_drain (next_at) WHERE enabled AND paused_at IS NULL;
