-- How old the routes of a machine are that copies them from Postgres (runtime/mirror/); null: it does not.
SET LOCAL search_path = control;

ALTER TABLE machine
  ADD COLUMN routes_age_seconds integer,
  -- Since when they have been old, and whether operators were told.
  ADD COLUMN routes_old_at timestamptz,
  ADD COLUMN routes_old_told boolean NOT NULL DEFAULT false;
