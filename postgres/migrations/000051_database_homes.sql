-- Which database service has the databases of which project (runtime/databases/homes/). Numbers come from `replica`, so
-- that what is stored below a number is older than all that is stored below a later one.
SET LOCAL search_path = binding;

CREATE TABLE database_service (
  -- Kept in its folder of databases.
  id text PRIMARY KEY,
  machine text NOT NULL,
  -- As engines and other services reach it: tcp://host:port or tls://host:port.
  address text NOT NULL,
  version text NOT NULL,
  -- Of its present process: an older one with a copy of its folder stops.
  fence bigint NOT NULL,
  -- Boot of its machine: on the same one, a process that starts has replaced the one before.
  boot text NOT NULL,
  -- Increases with each renewal. It is lost when others have seen no increase for a time that they measured themselves:
  -- no clock of the day decides.
  renewals bigint NOT NULL DEFAULT 0,
  -- It serves only while it renews. False until it has seen another service: nobody may take its projects then.
  is_leased boolean NOT NULL DEFAULT false,
  -- Others can restore its databases.
  has_replicas boolean NOT NULL,
  is_draining boolean NOT NULL DEFAULT false,
  -- An operator has said that it does not come back.
  is_removed boolean NOT NULL DEFAULT false,
  disk_free_bytes bigint NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE database_home (
  project text PRIMARY KEY,
  service text NOT NULL REFERENCES database_service,
  -- Taken anew with each change of the service.
  fence bigint NOT NULL,
  -- `restoring`: its service takes the databases from the bucket, and serves them when it has all.
  state text NOT NULL DEFAULT 'serving' CHECK (state IN ('serving', 'restoring')),
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX database_home_service ON database_home (service);
