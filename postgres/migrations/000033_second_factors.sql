-- Second factors of accounts with a password: codes of an authenticator app, and recovery codes.
SET LOCAL search_path = control;

CREATE TABLE second_factor (
  account_id text PRIMARY KEY REFERENCES account ON DELETE CASCADE,
  -- Encrypted (control/records/second-factors.ts).
  secret bytea NOT NULL,
  -- Period of the last accepted code: no code of it or of an earlier one is accepted again.
  last_step bigint NOT NULL DEFAULT 0,
  -- Null: the account has not typed a first code yet.
  confirmed_at timestamptz
);

-- Each is deleted when it is used.
CREATE TABLE recovery_code (
  -- SHA-256 of the code.
  hash bytea PRIMARY KEY,
  account_id text NOT NULL REFERENCES second_factor ON DELETE CASCADE
);
CREATE INDEX recovery_code_account ON recovery_code (account_id);
