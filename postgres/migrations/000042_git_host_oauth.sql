-- OAuth applications on Git hosts, by which accounts are connected without an access token. Written by
-- control/git-host/; grants are refreshed by the builder, too (git/host/grants.ts).
SET LOCAL search_path = control;

ALTER TABLE git_host
  ADD COLUMN oauth_client_id text,
  -- Encrypted. Both or none.
  ADD COLUMN oauth_client_secret bytea;

-- `token` is a grant of the OAuth application: an access token that expires, and the one that refreshes it.
ALTER TABLE installation ADD COLUMN is_grant boolean NOT NULL DEFAULT false;
