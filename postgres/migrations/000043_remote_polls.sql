-- Plain remotes are looked up on a schedule (control/git-host/remote-polls.ts). Their `checked_at` and `check_problem` are
-- of the last time.
SET LOCAL search_path = control;

ALTER TABLE repository
  -- Null: only its webhook tells of pushes.
  ADD COLUMN poll_seconds integer,
  ADD COLUMN poll_due_at timestamptz,
  -- In a row; with each, the pause doubles.
  ADD COLUMN poll_failures integer NOT NULL DEFAULT 0;
CREATE INDEX repository_poll ON repository (poll_due_at) WHERE poll_seconds IS NOT NULL AND disconnected_at IS NULL;
