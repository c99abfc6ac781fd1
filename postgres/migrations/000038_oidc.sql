-- Who an account is at an OpenID Connect provider. Apart from `identity`, whose logins are those of a Git host and
-- accept invitations.
SET LOCAL search_path = control;

CREATE TABLE oidc_identity (
  issuer text NOT NULL,
  subject text NOT NULL,
  account_id text NOT NULL REFERENCES account ON DELETE CASCADE,
  -- What the provider said at the last sign-in; NULL where it said nothing.
  username text,
  name text,
  email text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject),
  UNIQUE (account_id, issuer)
);

-- Whether a group of the provider gave the membership: then groups change and end it, too.
ALTER TABLE membership ADD COLUMN is_from_group boolean NOT NULL DEFAULT false;
