-- Machines of the installation: each supervisor announces itself and renews its row (postgres/machine.ts).
SET LOCAL search_path = control;

CREATE TABLE machine (
  name text PRIMARY KEY,
  -- Of its present process, which holds this advisory lock for as long as it is connected (postgres/presence.ts).
  member text NOT NULL,
  lock_key integer NOT NULL,
  state text NOT NULL DEFAULT 'up' CHECK (state IN ('up', 'draining', 'drained')),
  state_at timestamptz NOT NULL DEFAULT now(),
  -- As the other machines reach its private port and its handler; null: it is for this machine alone.
  private_origin text,
  upstream text,
  parts text[] NOT NULL,
  version text NOT NULL,
  -- First bytes of the hashes of its encryption keys, as in what they seal; none: it has no key.
  key_ids text[] NOT NULL,
  memory_bytes bigint NOT NULL,
  memory_free_bytes bigint NOT NULL,
  disk_bytes bigint NOT NULL,
  disk_free_bytes bigint NOT NULL,
  -- The table as it was then is what its edge sends requests by; null: no edge runs there.
  edge_read_at timestamptz,
  announced_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- Operators were told that it is lost.
  lost_at timestamptz
);

-- A machine is lost when its lease has ended, or sooner when its session is gone and two renewals were missed.
CREATE VIEW machine_now AS
  SELECT machine.*, CASE
    WHEN seen_at < clock_timestamp() - interval '10 seconds' THEN 'lost'
    WHEN seen_at < clock_timestamp() - interval '5 seconds' AND NOT EXISTS (
      SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid::bigint = 752834100
        AND objid::bigint = (lock_key::bigint & 4294967295)
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) THEN 'lost'
    ELSE state END AS status
  FROM machine;

-- For the broker, which has the role of engines.
CREATE VIEW binding.handler_machine AS
  SELECT private_origin, status FROM machine_now
  WHERE 'handler' = ANY(parts) AND private_origin IS NOT NULL AND status <> 'lost';
GRANT SELECT ON binding.handler_machine TO platform_engine;
