-- Classes of durable objects of which production may have objects, by their first names (core/bindings/object-classes.ts).
-- A release that no longer has such a class fails while objects of it exist (control/releases/object-classes.ts).
SET LOCAL search_path = control;

CREATE TABLE object_class (
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  name text NOT NULL,
  -- The deployment that deletes its objects as soon as it is production.
  deletion text REFERENCES deployment ON DELETE SET NULL,
  PRIMARY KEY (project_id, name)
);
CREATE INDEX object_class_deletion ON object_class (deletion) WHERE deletion IS NOT NULL;
