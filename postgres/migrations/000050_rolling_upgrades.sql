-- Versions of the program side by side on one schema, and whose turn it is while machines are upgraded one by one
-- (docs/upgrade.md).
SET LOCAL search_path = control;

-- The newest version that has migrated this database, and the oldest one that works beside it.
ALTER TABLE platform ADD COLUMN version text, ADD COLUMN works_from text;

-- The machine that is being upgraded, or was last.
CREATE TABLE rolling_upgrade (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  machine text NOT NULL,
  from_version text NOT NULL,
  to_version text NOT NULL,
  step text NOT NULL CHECK (step IN ('draining', 'restarting', 'done', 'failed')),
  reason text,
  changed_at timestamptz NOT NULL DEFAULT now()
);
