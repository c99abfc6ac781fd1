-- Tokens for machines that join (docs/decisions/134-machines-join-over-postgres.md).
SET LOCAL search_path = control;

-- The schema's default privileges are for tables of bindings: engines may only read this.
REVOKE ALL ON binding.handler_machine FROM platform_engine;
GRANT SELECT ON binding.handler_machine TO platform_engine;

CREATE TABLE machine_token (
  id text PRIMARY KEY,
  -- SHA-256 of the token.
  hash bytea NOT NULL,
  -- Settings of the installation, sealed with a key that only the token has; null: used.
  settings bytea,
  created_by text REFERENCES account ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  -- Name of the machine.
  used_by text
);
