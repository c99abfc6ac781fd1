-- Ports of sandboxes that have an address (runtime/sandbox/exposed-ports.ts): gone with their sandbox.
SET LOCAL search_path = sandbox;

CREATE TABLE exposed_port (
  -- In the host, random, of this port of this sandbox and never of another one.
  name text PRIMARY KEY,
  key text NOT NULL REFERENCES sandbox (key) ON DELETE CASCADE,
  port integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
  -- What the worker calls it.
  label text,
  is_public boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (key, port)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON exposed_port TO platform_sandbox;
