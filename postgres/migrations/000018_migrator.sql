-- What the migrator process works on (DB_MIGRATIONS_EXECUTOR=migrator), and its record of what it did.
SET LOCAL search_path = control;

-- All migrations of an artifact, for the databases of production or of one branch: what a release asks for and waits for.
CREATE TABLE migration_run (
  id text PRIMARY KEY,
  deployment_id text NOT NULL REFERENCES deployment ON DELETE CASCADE,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  artifact text NOT NULL,
  -- Whose databases; null: production's.
  branch text,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'success', 'failure', 'canceled')),
  -- The account whose wish it is; null: a push, or the platform.
  requested_by text,
  attempt integer NOT NULL DEFAULT 0,
  lease text,
  lease_until timestamptz,
  due_at timestamptz NOT NULL DEFAULT now(),
  error_message text,
  -- What became of each database, for the release.
  databases jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz
);
-- One of a project at a time; one that waits for the same databases is joined.
CREATE UNIQUE INDEX migration_run_project ON migration_run (project_id) WHERE status = 'running';
CREATE UNIQUE INDEX migration_run_open ON migration_run (deployment_id, coalesce(branch, ''))
  WHERE status IN ('queued', 'running');
CREATE INDEX migration_run_due ON migration_run (due_at) WHERE status IN ('queued', 'running');
CREATE INDEX migration_run_deployment ON migration_run (deployment_id, created_at DESC);

-- One row a migration and run, written before it is applied and completed after it.
CREATE TABLE database_migration_audit (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  run_id text NOT NULL,
  deployment_id text NOT NULL,
  -- As platform.yaml names it, and whose; null: production's.
  resource text NOT NULL,
  branch text,
  filename text NOT NULL,
  -- Of the file as the deployment brings it.
  sha256 text NOT NULL,
  -- running: it may or may not be in the database. changed: it is there with another text, and was left alone.
  result text NOT NULL CHECK (result IN ('running', 'applied', 'failed', 'changed')),
  error_message text,
  requested_by text,
  -- The process, as <host>.<process id>.<random>.
  applied_by text NOT NULL,
  attempt integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  -- Null where the process that applied it ended before it could say.
  duration_ms integer,
  UNIQUE (run_id, resource, filename)
);
CREATE INDEX database_migration_audit_project ON database_migration_audit (project_id, seq DESC);
CREATE INDEX database_migration_audit_deployment ON database_migration_audit (deployment_id, seq);
