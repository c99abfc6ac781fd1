-- Settings that operators change while the platform runs (control/process/live-settings.ts), by the name of their variable.
SET LOCAL search_path = control;

CREATE TABLE setting (
  name text PRIMARY KEY,
  -- Encrypted.
  value bytea NOT NULL,
  changed_by text REFERENCES account ON DELETE SET NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);
