-- Steps of the first setup that an operator has skipped (control/operator/setup.ts), and `finished` once it was ended.
SET LOCAL search_path = control;

CREATE TABLE setup (
  step text PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);
-- Installations that are in use have been set up.
INSERT INTO setup (step) SELECT 'finished' WHERE EXISTS (SELECT FROM project);
