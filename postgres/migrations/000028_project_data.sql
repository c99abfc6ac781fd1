-- When the data of a deleted project's bindings is removed: control/releases/project-removal.ts. Data of a name belongs to
-- the newest project of that name.
SET LOCAL search_path = control;

-- Null: it is not deleted, or another project of its name has taken the data over.
ALTER TABLE project ADD COLUMN data_due_at timestamptz;
-- Deleted items by kind; null: not removed.
ALTER TABLE project ADD COLUMN data_removal jsonb;
CREATE INDEX project_data_due ON project (data_due_at) WHERE data_due_at IS NOT NULL AND data_removal IS NULL;

UPDATE project SET data_due_at = now() + interval '30 days' WHERE id IN (
  SELECT DISTINCT ON (name) id FROM project ORDER BY name, (deleted_at IS NULL) DESC, created_at DESC)
  AND deleted_at IS NOT NULL;
