-- Invitations by link, for anyone who has it, besides those for a login on the Git host.
SET LOCAL search_path = control;

ALTER TABLE invitation ALTER COLUMN login DROP NOT NULL;
-- SHA-256 of the code in the link; null: an invitation for a login.
ALTER TABLE invitation ADD COLUMN link_hash bytea UNIQUE;
-- Where the platform sent the link; null: the member who invited sends it.
ALTER TABLE invitation ADD COLUMN email text;
ALTER TABLE invitation ADD CHECK ((login IS NULL) <> (link_hash IS NULL));
