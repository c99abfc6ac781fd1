-- What projects keep, as it was counted last (control/storage/): one row a project and kind that keeps anything.
SET LOCAL search_path = control;

CREATE TABLE storage (
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  kind text NOT NULL,
  bytes bigint NOT NULL,
  -- On the disk of the data folder, which all organizations share.
  is_local boolean NOT NULL,
  counted_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, kind)
);

-- It may keep no more: its builds, uploads and pushes are refused.
ALTER TABLE organization ADD COLUMN storage_full boolean NOT NULL DEFAULT false;

-- The sandbox service makes none for it.
GRANT SELECT (organization_id) ON project TO platform_sandbox;
GRANT SELECT (id, storage_full) ON organization TO platform_sandbox;
