-- Passkeys of accounts (WebAuthn), and the id under which authenticators keep an account.
SET LOCAL search_path = control;

-- Random; null before the first passkey. Tells nothing about the account, and other members do not see it.
ALTER TABLE account ADD COLUMN passkey_user bytea UNIQUE;

CREATE TABLE passkey (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES account ON DELETE CASCADE,
  -- Chosen by the authenticator.
  credential_id bytea NOT NULL UNIQUE,
  -- COSE.
  public_key bytea NOT NULL,
  -- Of the last sign-in; 0: the authenticator does not count.
  counter bigint NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  used_at timestamptz
);
CREATE INDEX passkey_account ON passkey (account_id);
