-- Passwords of accounts, and addresses that were proven by a link.
SET LOCAL search_path = control;

CREATE TABLE password (
  account_id text PRIMARY KEY REFERENCES account ON DELETE CASCADE,
  username text NOT NULL,
  -- scrypt: salt and key in hex, with a colon between (control/access/passwords.ts).
  hash text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX password_username ON password (lower(username));

-- When the account proved that it reads `email`; null: a Git host named it.
ALTER TABLE account ADD COLUMN email_proven_at timestamptz;
