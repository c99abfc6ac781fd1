-- Files of `routes/` for machines without a shared folder (ARTIFACTS_S3_*): route records, and what organizations may
-- still store. The API writes them, runtime/mirror/ on each machine reads them. They contain variables of deployments,
-- so they are sealed with a key that neither this database nor engines have.
SET LOCAL search_path = binding;

CREATE TABLE route_file (
  -- As in the folder: `shop.json`, `storage`.
  name text PRIMARY KEY,
  -- Increases with each change of any file, in the order of the commits.
  seq bigint NOT NULL UNIQUE,
  -- HMAC of the text; null: the file is deleted.
  mac bytea,
  sealed bytea,
  changed_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((mac IS NULL) = (sealed IS NULL))
);

-- The id of the platform, for the mark of its bucket.
CREATE VIEW platform_id AS SELECT id::text AS id FROM control.platform;

REVOKE ALL ON route_file, platform_id FROM platform_engine;
GRANT SELECT ON route_file, platform_id TO platform_engine;
