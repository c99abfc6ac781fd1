-- Sandboxes: what the sandbox service knows of each, and which replica of it has it (runtime/sandbox/service/).
CREATE SCHEMA sandbox;
SET LOCAL search_path = sandbox;

CREATE TABLE sandbox (
  -- Of its machine, new with every sandbox.
  key text PRIMARY KEY,
  -- Namespace of the project; the resource as platform.yaml names it, of a preview with its branch; the worker's id.
  project text NOT NULL,
  resource text NOT NULL,
  id text NOT NULL,
  provider text NOT NULL,
  state text NOT NULL CHECK (state IN ('creating', 'running', 'suspended', 'stopped', 'error')),
  created_at timestamptz NOT NULL DEFAULT now(),
  last_active_at timestamptz NOT NULL DEFAULT now(),
  -- The replica that has it, as the others reach it, and until when; null: whoever comes first.
  owner text,
  lease_until timestamptz,
  UNIQUE (project, resource, id)
);
CREATE INDEX sandbox_idle ON sandbox (last_active_at);

-- The service starts containers, and its neighbours are strangers: it gets this table, and of the others what tells it
-- which projects were deleted and which installation it belongs to.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'platform_sandbox') THEN
    CREATE ROLE platform_sandbox NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;

GRANT USAGE ON SCHEMA sandbox, control TO platform_sandbox;
GRANT SELECT, INSERT, UPDATE, DELETE ON sandbox TO platform_sandbox;
GRANT SELECT (name, deleted_at) ON control.project TO platform_sandbox;
GRANT SELECT (id) ON control.platform TO platform_sandbox;
