-- Which installation the database belongs to; its data folder says the same.
SET LOCAL search_path = control;

CREATE TABLE platform (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  is_only boolean NOT NULL DEFAULT true UNIQUE CHECK (is_only),
  created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO platform DEFAULT VALUES;
