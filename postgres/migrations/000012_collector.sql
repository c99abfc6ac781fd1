-- Where the spans of a project go beside the operator's collector, and what became of them (control/telemetry/).
SET LOCAL search_path = control;

CREATE TABLE collector (
  project_id text PRIMARY KEY REFERENCES project ON DELETE CASCADE,
  url text NOT NULL,
  -- JSON of names and values, sealed.
  headers bytea NOT NULL,
  header_names text[] NOT NULL,
  is_private boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  sent bigint NOT NULL DEFAULT 0,
  dropped bigint NOT NULL DEFAULT 0,
  sent_at timestamptz,
  error text,
  error_at timestamptz
);
