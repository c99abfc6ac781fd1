-- Guarded releases: a deployment gets a rising share of production's visitors, and becomes production or is rolled back
-- by what its requests show (control/releases/guarded/).
SET LOCAL search_path = control;

CREATE TABLE guarded_release (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  deployment_id text NOT NULL REFERENCES deployment ON DELETE CASCADE,
  -- Production meanwhile.
  previous_id text NOT NULL,
  -- As in platform.yaml (core/release-settings.ts), with all keys.
  settings jsonb NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'promoted', 'rolled_back', 'canceled')),
  -- Index in the steps of the settings.
  step integer NOT NULL DEFAULT 0,
  -- What each step saw, the current one last (control/records/guarded-releases.ts).
  steps jsonb NOT NULL,
  -- Why it ended, as a sentence; null: it runs.
  reason text,
  started_at timestamptz NOT NULL DEFAULT now(),
  step_at timestamptz NOT NULL DEFAULT now(),
  -- When it is judged next.
  due_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz
);
CREATE UNIQUE INDEX guarded_release_running ON guarded_release (project_id) WHERE state = 'running';
CREATE INDEX guarded_release_due ON guarded_release (due_at) WHERE state = 'running';
CREATE INDEX guarded_release_deployment ON guarded_release (deployment_id, id DESC);

-- Tells webhooks, the Git host and followers of the deployment of each change.
CREATE FUNCTION guarded_release_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  of_organization text;
BEGIN
  SELECT organization_id INTO of_organization FROM control.project WHERE id = NEW.project_id;
  PERFORM control.enqueue_event(of_organization, NEW.project_id,
    'release.' || CASE WHEN TG_OP = 'INSERT' THEN 'started' WHEN NEW.state = 'running' THEN 'advanced' ELSE NEW.state END,
    jsonb_build_object('deploymentId', NEW.deployment_id, 'previousDeploymentId', NEW.previous_id,
      'percent', CASE NEW.state WHEN 'running' THEN (NEW.settings->'steps'->>NEW.step)::integer
        WHEN 'promoted' THEN 100 ELSE 0 END,
      'reason', NEW.reason));
  UPDATE control.git_report SET due_at = now(), attempt = 0, version = version + 1
   WHERE deployment_id = NEW.deployment_id;
  IF FOUND THEN
    PERFORM pg_notify('control_git', 'report');
  END IF;
  PERFORM pg_notify('control_deployment', NEW.deployment_id);
  RETURN NULL;
END $$;
CREATE TRIGGER guarded_release_started AFTER INSERT ON guarded_release
  FOR EACH ROW EXECUTE FUNCTION guarded_release_event();
CREATE TRIGGER guarded_release_changed AFTER UPDATE OF state, step ON guarded_release FOR EACH ROW
  WHEN (NEW.state <> OLD.state OR NEW.step <> OLD.step) EXECUTE FUNCTION guarded_release_event();
