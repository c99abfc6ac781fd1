-- Git hosts besides that of GITHOST_URL, and the accounts there that organizations connect by an access token. Such an
-- account is an installation with a token. Written by control/git-host/, read by the builder too.
SET LOCAL search_path = control;

CREATE TABLE git_host (
  id text PRIMARY KEY,
  kind text NOT NULL,
  name text NOT NULL,
  -- Of its pages and clones, without a slash at its end.
  url text NOT NULL,
  -- Encrypted: the secret of each repository's webhook is derived from it.
  webhook_secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX git_host_url ON git_host (url);
CREATE UNIQUE INDEX git_host_name ON git_host (lower(name));

-- All of these are null for the host of GITHOST_URL, whose ids of repositories may be those of another host.
ALTER TABLE installation
  ADD COLUMN git_host_id text REFERENCES git_host ON DELETE CASCADE,
  -- Encrypted.
  ADD COLUMN token bytea,
  ADD COLUMN token_expires_at timestamptz,
  -- Why its token does not work; null: it did when it was used last.
  ADD COLUMN problem text;
CREATE UNIQUE INDEX installation_account ON installation (organization_id, git_host_id, account_login)
  WHERE git_host_id IS NOT NULL;

ALTER TABLE repository
  ADD COLUMN git_host_id text REFERENCES git_host ON DELETE CASCADE,
  -- When repository and webhook were last looked up on the host, and what was wrong then.
  ADD COLUMN checked_at timestamptz,
  ADD COLUMN check_problem text;
CREATE INDEX repository_checked ON repository (checked_at) WHERE git_host_id IS NOT NULL;
