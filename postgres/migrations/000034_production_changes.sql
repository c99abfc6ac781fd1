-- When production of a project moved to another deployment: the marks of charts (control/records/production-changes.ts),
-- and whether a deployment became production after its guarded release. Written by control/releases/pointers.ts.
SET LOCAL search_path = control;

CREATE TABLE production_change (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT now(),
  deployment_id text NOT NULL REFERENCES deployment ON DELETE CASCADE,
  is_rollback boolean NOT NULL
);
CREATE INDEX production_change_at ON production_change (project_id, at DESC);
CREATE INDEX production_change_deployment ON production_change (deployment_id, at DESC);

-- Earlier changes, from the audit log. A deployment that succeeded while its guarded release ran was not production yet.
INSERT INTO production_change (project_id, at, deployment_id, is_rollback)
SELECT deployment.project_id, e.at, deployment.id, e.action = 'deployment.rollback'
  FROM audit_event AS e JOIN deployment ON deployment.id = e.subject_id
 WHERE e.action IN ('deployment.promote', 'release.promote')
    OR e.action = 'deployment.rollback' AND e.subject_id IS DISTINCT FROM e.details->>'previous'
    OR e.action = 'deployment.succeed' AND e.details->>'target' = 'production' AND NOT EXISTS (
         SELECT FROM guarded_release WHERE guarded_release.deployment_id = deployment.id AND started_at <= e.at)
 ORDER BY e.seq;

-- Updates the commit status of the deployment that became production.
CREATE FUNCTION production_change_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE control.git_report SET due_at = now(), attempt = 0, version = version + 1
   WHERE deployment_id = NEW.deployment_id;
  IF FOUND THEN
    PERFORM pg_notify('control_git', 'report');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER production_changed AFTER INSERT ON production_change
  FOR EACH ROW EXECUTE FUNCTION production_change_report();
