-- When production, or the URL of its branch, last went on to another deployment: pages that it served are served by it
-- for a while longer.
SET LOCAL search_path = control;

ALTER TABLE deployment ADD COLUMN superseded_at timestamptz;
