-- Under the ledger's former name: what versions before migration 16 read, so that they say that they are too old.
CREATE TABLE IF NOT EXISTS public.database_migration_audit (
  version integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(), duration_ms integer NOT NULL);
INSERT INTO public.database_migration_audit (version, name, hash, duration_ms)
VALUES (1000000, '000016_ledger.sql', '', 0) ON CONFLICT DO NOTHING;
