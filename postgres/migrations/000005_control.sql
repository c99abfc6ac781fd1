-- What the control plane knows. Engines have no right to any of it: only schema `binding` is granted to their role.
-- Ids are a prefix, an underscore and twenty of [0-9a-z]; deployments have the ids of route records. Secrets are kept
-- as SHA-256 (tokens) or encrypted (variables), never as they are.
CREATE SCHEMA control;
SET LOCAL search_path = control;

CREATE TABLE organization (
  id text PRIMARY KEY,
  slug text NOT NULL UNIQUE,
  name text NOT NULL,
  plan text NOT NULL DEFAULT 'free',
  -- The first admin's: where builds cannot be confined, only it builds.
  is_first boolean NOT NULL DEFAULT false,
  settings jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE account (
  id text PRIMARY KEY,
  login text NOT NULL,
  name text NOT NULL DEFAULT '',
  email text,
  avatar_url text,
  -- Operator of the installation.
  is_admin boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  signed_in_at timestamptz
);

-- Who an account is on a Git host.
CREATE TABLE identity (
  provider text NOT NULL,
  subject text NOT NULL,
  account_id text NOT NULL REFERENCES account ON DELETE CASCADE,
  login text NOT NULL,
  -- Of the Git host, encrypted: proves which installations this person may use.
  access_token bytea,
  PRIMARY KEY (provider, subject)
);
CREATE INDEX identity_account ON identity (account_id);

CREATE TABLE membership (
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  account_id text NOT NULL REFERENCES account ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, account_id)
);
CREATE INDEX membership_account ON membership (account_id);

CREATE TABLE invitation (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  -- Login on the Git host.
  login text NOT NULL,
  role text NOT NULL,
  invited_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  UNIQUE (organization_id, login)
);

CREATE TABLE session (
  -- SHA-256 of the cookie's value.
  hash bytea PRIMARY KEY,
  account_id text NOT NULL REFERENCES account ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  user_agent text,
  address text
);
CREATE INDEX session_account ON session (account_id);
CREATE INDEX session_expiry ON session (expires_at);

-- What is made once and taken once: OAuth states, authorization codes of the command line, device codes.
CREATE TABLE single_use (
  -- SHA-256 of the value.
  hash bytea PRIMARY KEY,
  kind text NOT NULL,
  content jsonb NOT NULL DEFAULT '{}',
  expires_at timestamptz NOT NULL
);
CREATE INDEX single_use_expiry ON single_use (expires_at);

CREATE TABLE token (
  id text PRIMARY KEY,
  -- SHA-256 of the token.
  hash bytea NOT NULL UNIQUE,
  -- First characters, to tell tokens apart.
  hint text NOT NULL,
  name text NOT NULL,
  account_id text REFERENCES account ON DELETE CASCADE,
  -- Null: reaches all organizations of the account.
  organization_id text REFERENCES organization ON DELETE CASCADE,
  -- Null: all projects.
  project_id text,
  scope text NOT NULL CHECK (scope IN ('read', 'deploy', 'write', 'admin')),
  created_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX token_account ON token (account_id);
CREATE INDEX token_organization ON token (organization_id);

-- A Git-host application's installation, and the organization that proved it may use it.
CREATE TABLE installation (
  id text PRIMARY KEY,
  organization_id text REFERENCES organization ON DELETE CASCADE,
  account_login text NOT NULL,
  permissions jsonb NOT NULL DEFAULT '{}',
  suspended_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE repository (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  -- git-host: of an installation; remote: any https or ssh URL; builtin: a bare repository in the data folder.
  source text NOT NULL CHECK (source IN ('git-host', 'remote', 'builtin')),
  -- The Git host's own id of it: stays when it is renamed.
  host_id text,
  installation_id text REFERENCES installation ON DELETE SET NULL,
  -- owner/name, or the URL without credentials.
  full_name text NOT NULL,
  url text NOT NULL,
  default_branch text NOT NULL DEFAULT 'main',
  -- Of a remote: what it takes to read it, encrypted.
  credentials bytea,
  -- Of a remote: SHA-256 of the token in the URL that tells of a push, and its branches as they were last seen.
  webhook_hash bytea UNIQUE,
  heads jsonb,
  disconnected_at timestamptz,
  disconnect_reason text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX repository_host ON repository (host_id);
CREATE INDEX repository_organization ON repository (organization_id);

CREATE TABLE project (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  -- Name in hosts, unique over the installation.
  name text NOT NULL,
  description text NOT NULL DEFAULT '',
  visibility text NOT NULL DEFAULT 'private',
  kind text,
  repository_id text REFERENCES repository ON DELETE SET NULL,
  -- Folder of its platform.yaml in the repository; '' is the root.
  config_path text NOT NULL DEFAULT '',
  default_branch text NOT NULL DEFAULT 'main',
  -- {buildCommand, outputDirectory, installCommand, redeployOnVariables, previewPassword, ...}
  settings jsonb NOT NULL DEFAULT '{}',
  production_deployment_id text,
  -- Deployments that were production before, the last one at the end: what a rollback goes back to.
  production_history text[] NOT NULL DEFAULT '{}',
  -- {deploymentId, percent}: a gradual release.
  split jsonb,
  -- Counts changes of what its route record is made of; `routed_version` of those that handlers know.
  route_version bigint NOT NULL DEFAULT 1,
  routed_version bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE UNIQUE INDEX project_name ON project (name) WHERE deleted_at IS NULL;
CREATE INDEX project_organization ON project (organization_id, created_at DESC, id DESC);
CREATE INDEX project_repository ON project (repository_id);

CREATE TABLE branch (
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  name text NOT NULL,
  -- What its URL leads to.
  deployment_id text,
  -- Number of the pull request it belongs to.
  pull_request integer,
  -- Resources that its deployments declared, by kind of binding: what is removed with it.
  resources jsonb NOT NULL DEFAULT '{}',
  removed_at timestamptz,
  -- What went with it, counted; null while that is still to be done.
  removal jsonb,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, name)
);

CREATE TABLE deployment (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  organization_id text NOT NULL,
  status text NOT NULL DEFAULT 'queued'
    CHECK (status IN ('queued', 'building', 'uploading', 'migrating', 'success', 'failure', 'timeout', 'canceled')),
  -- Why it ended or waits, for programs: 'superseded', 'build_failed', 'artifact_too_large', 'migration_failed', ...
  reason text,
  error_message text,
  target text NOT NULL CHECK (target IN ('production', 'preview')),
  branch text NOT NULL,
  commit_sha text,
  commit_message text,
  author text,
  pull_request integer,
  -- From a fork: waits for a member's approval, and is built without secrets.
  is_fork boolean NOT NULL DEFAULT false,
  approved_by text,
  -- push, pull_request, upload, redeploy, hook, rollback
  source text NOT NULL,
  created_by text,
  kind text,
  artifact text,
  -- Encrypted: the variables it was released with, so that a rollback has them again.
  variables bytea,
  -- [{resource, files, on: production or preview, at}]: the migrations that were applied for it.
  migrations jsonb NOT NULL DEFAULT '[]',
  build_ms integer,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  ready_at timestamptz,
  -- Its artifact is gone: retention.
  removed_at timestamptz
);
CREATE INDEX deployment_project ON deployment (project_id, created_at DESC, id DESC);
CREATE INDEX deployment_organization ON deployment (organization_id, created_at DESC, id DESC);
CREATE INDEX deployment_branch ON deployment (project_id, branch, created_at DESC);
CREATE INDEX deployment_open ON deployment (status, created_at) WHERE status IN ('queued', 'building', 'uploading', 'migrating');

-- Work of the builder (kind build) and of the API process (kind release), one row a deployment and kind.
CREATE TABLE job (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('build', 'release')),
  deployment_id text NOT NULL REFERENCES deployment ON DELETE CASCADE,
  project_id text NOT NULL,
  branch text NOT NULL,
  -- {repositoryId, commit, clearCache, ...}; of a release: nothing.
  input jsonb NOT NULL DEFAULT '{}',
  attempt integer NOT NULL DEFAULT 0,
  attempts_max integer NOT NULL DEFAULT 3,
  lease text,
  lease_until timestamptz,
  due_at timestamptz NOT NULL DEFAULT now(),
  -- Somebody wants it to end.
  cancel_reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, deployment_id)
);
CREATE INDEX job_due ON job (kind, due_at);
CREATE INDEX job_project ON job (project_id, branch);

CREATE TABLE build_log (
  deployment_id text NOT NULL REFERENCES deployment ON DELETE CASCADE,
  seq bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  -- queue, clone, install, build, artifact, upload, migrate, release
  step text NOT NULL,
  level text NOT NULL DEFAULT 'info',
  text text NOT NULL,
  PRIMARY KEY (deployment_id, seq)
);

CREATE TABLE variable (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  key text NOT NULL,
  scope text NOT NULL CHECK (scope IN ('production', 'preview', 'branch', 'dev')),
  -- Of scope branch; '' otherwise.
  branch text NOT NULL DEFAULT '',
  kind text NOT NULL CHECK (kind IN ('plaintext', 'secret')),
  -- Encrypted, plaintext too.
  value bytea NOT NULL,
  created_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, scope, branch, key)
);

CREATE TABLE domain (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  hostname text NOT NULL,
  branch text,
  redirect_to text,
  status text NOT NULL DEFAULT 'pending_verification',
  verification jsonb NOT NULL DEFAULT '{}',
  certificate jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  verified_at timestamptz
);
-- Several projects may ask for a host; one has it.
CREATE UNIQUE INDEX domain_hostname ON domain (project_id, hostname);
CREATE UNIQUE INDEX domain_verified ON domain (hostname) WHERE verified_at IS NOT NULL;

CREATE TABLE audit_event (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  organization_id text,
  project_id text,
  -- account, token or system; with its id.
  actor_kind text NOT NULL,
  actor_id text,
  action text NOT NULL,
  subject_kind text NOT NULL,
  subject_id text,
  details jsonb NOT NULL DEFAULT '{}',
  address text,
  request_id text
);
CREATE INDEX audit_organization ON audit_event (organization_id, seq DESC);

-- Requests and CPU by hour, route and kind of invocation.
CREATE TABLE usage (
  hour timestamptz NOT NULL,
  project_id text NOT NULL,
  deployment_id text NOT NULL,
  kind text NOT NULL,
  route text NOT NULL DEFAULT '',
  invocations bigint NOT NULL DEFAULT 0,
  failures bigint NOT NULL DEFAULT 0,
  cpu_ms double precision NOT NULL DEFAULT 0,
  host_cpu_ms double precision NOT NULL DEFAULT 0,
  -- The most expensive one.
  cpu_ms_max double precision NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, hour, deployment_id, kind, route)
);

CREATE TABLE idempotency (
  actor text NOT NULL,
  key text NOT NULL,
  -- SHA-256 of method, path and body: another request under the same key is refused.
  request bytea NOT NULL,
  status integer,
  headers jsonb,
  body text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (actor, key)
);

CREATE UNLOGGED TABLE rate (
  key text NOT NULL,
  window_start timestamptz NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (key, window_start)
);

-- Deliveries of the Git host that came: none is taken twice. They are worked on after the answer.
CREATE TABLE webhook_received (
  delivery_id text PRIMARY KEY,
  -- SHA-256 of the body: the signature does not cover the id.
  body_hash bytea,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  event text NOT NULL,
  -- What it is about: a branch, a repository, an installation.
  subject text NOT NULL DEFAULT '',
  -- The few fields of its body that count.
  details jsonb NOT NULL DEFAULT '{}',
  received_at timestamptz NOT NULL DEFAULT now(),
  attempt integer NOT NULL DEFAULT 0,
  -- Null: it is done, with this outcome.
  due_at timestamptz,
  outcome text
);
CREATE INDEX webhook_received_body ON webhook_received (body_hash);
CREATE INDEX webhook_received_at ON webhook_received (received_at);
CREATE INDEX webhook_received_due ON webhook_received (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_received_subject ON webhook_received (subject, seq DESC);

-- Deployments whose state the Git host has to be told: as a commit status, and in the comment of a pull request.
CREATE TABLE git_report (
  deployment_id text PRIMARY KEY REFERENCES deployment ON DELETE CASCADE,
  -- Null: it knows.
  due_at timestamptz,
  attempt integer NOT NULL DEFAULT 0,
  -- Counts changes of the state: what was told may be old by then.
  version integer NOT NULL DEFAULT 0,
  -- The commit status that it was told last.
  told text,
  error text
);
CREATE INDEX git_report_due ON git_report (due_at) WHERE due_at IS NOT NULL;

-- The one comment of the platform under a pull request.
CREATE TABLE pull_request_comment (
  repository_id text NOT NULL REFERENCES repository ON DELETE CASCADE,
  number integer NOT NULL,
  -- The Git host's id of it; null while it is made.
  comment_id bigint,
  -- SHA-256 of its text.
  body_hash bytea,
  PRIMARY KEY (repository_id, number)
);

-- A trigger, so that no change of a state is lost, whoever makes it.
CREATE FUNCTION report_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO control.git_report (deployment_id, due_at)
  SELECT NEW.id, now() FROM control.project JOIN control.repository ON repository.id = project.repository_id
   WHERE project.id = NEW.project_id AND repository.installation_id IS NOT NULL
     AND repository.disconnected_at IS NULL AND NEW.commit_sha IS NOT NULL
      ON CONFLICT (deployment_id)
      DO UPDATE SET due_at = now(), attempt = 0, version = git_report.version + 1;
  IF FOUND THEN
    PERFORM pg_notify('control_git', 'report');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER deployment_report AFTER INSERT OR UPDATE OF status, commit_sha ON deployment
  FOR EACH ROW EXECUTE FUNCTION report_deployment();

-- Webhooks of ours to others.
CREATE TABLE webhook (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  project_id text,
  url text NOT NULL,
  events text[] NOT NULL,
  -- Encrypted.
  secret bytea NOT NULL,
  -- May lead to a private address: an operator has said so.
  is_private boolean NOT NULL DEFAULT false,
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_organization ON webhook (organization_id);
CREATE TABLE webhook_delivery (
  id text PRIMARY KEY,
  webhook_id text NOT NULL REFERENCES webhook ON DELETE CASCADE,
  event text NOT NULL,
  body jsonb NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  due_at timestamptz,
  lease_until timestamptz,
  status integer,
  error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  delivered_at timestamptz
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_webhook ON webhook_delivery (webhook_id, created_at DESC);

-- Deliveries are written in the transaction of what they tell of, whoever makes the change.
CREATE FUNCTION enqueue_event(of_organization text, of_project text, event_name text, event_data jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO control.webhook_delivery (id, webhook_id, event, body, due_at)
  SELECT 'whd_' || left(md5(gen_random_uuid()::text), 20), webhook.id, event_name,
         jsonb_build_object('type', event_name,
           'createdAt', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'organizationId', of_organization, 'projectId', of_project, 'data', event_data), now()
    FROM control.webhook
   WHERE webhook.organization_id = of_organization AND webhook.enabled AND event_name = ANY(webhook.events)
     AND (webhook.project_id IS NULL OR webhook.project_id = of_project);
  IF FOUND THEN
    PERFORM pg_notify('control_webhook', '');
  END IF;
END $$;

CREATE FUNCTION deployment_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  event_name text;
BEGIN
  IF TG_OP = 'INSERT' THEN
    event_name := 'deployment.created';
  ELSIF NEW.status IS DISTINCT FROM OLD.status THEN
    event_name := CASE NEW.status WHEN 'success' THEN 'deployment.succeeded' WHEN 'failure' THEN 'deployment.failed'
      WHEN 'timeout' THEN 'deployment.failed' WHEN 'canceled' THEN 'deployment.canceled' END;
  END IF;
  IF event_name IS NOT NULL THEN
    PERFORM control.enqueue_event(NEW.organization_id, NEW.project_id, event_name, jsonb_build_object(
      'deploymentId', NEW.id, 'status', NEW.status, 'reason', NEW.reason, 'target', NEW.target, 'branch', NEW.branch,
      'commitSha', NEW.commit_sha, 'pullRequest', NEW.pull_request, 'source', NEW.source));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER deployment_event AFTER INSERT OR UPDATE OF status ON deployment
  FOR EACH ROW EXECUTE FUNCTION deployment_event();

CREATE FUNCTION promotion_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM control.enqueue_event(NEW.organization_id, NEW.id, 'deployment.promoted', jsonb_build_object(
    'deploymentId', NEW.production_deployment_id, 'previousDeploymentId', OLD.production_deployment_id));
  RETURN NULL;
END $$;
CREATE TRIGGER promotion_event AFTER UPDATE OF production_deployment_id ON project FOR EACH ROW
  WHEN (NEW.production_deployment_id IS NOT NULL
    AND NEW.production_deployment_id IS DISTINCT FROM OLD.production_deployment_id)
  EXECUTE FUNCTION promotion_event();

-- A URL whose POST deploys a branch.
CREATE TABLE deploy_hook (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  hash bytea NOT NULL UNIQUE,
  name text NOT NULL,
  branch text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Artifacts and sources on their way in: parts lie in the data folder.
CREATE TABLE upload (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES project ON DELETE CASCADE,
  created_by text,
  bytes bigint NOT NULL,
  sha256 text NOT NULL,
  received bigint NOT NULL DEFAULT 0,
  -- {branch, target, commit, message}: of the deployment it becomes.
  input jsonb NOT NULL DEFAULT '{}',
  deployment_id text,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
