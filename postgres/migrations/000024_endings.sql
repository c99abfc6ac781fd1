-- What ends with what: tokens with the token that made them, sessions with the token that opened them, what a member made
-- with the membership (control/records/endings.ts).
SET LOCAL search_path = control;

-- The token that it was made with, or with whose session; null: a person signed in at the Git host, or the first start.
ALTER TABLE token ADD COLUMN parent_id text;
CREATE INDEX token_parent ON token (parent_id) WHERE parent_id IS NOT NULL;
ALTER TABLE session ADD COLUMN token_id text;
CREATE INDEX session_token ON session (token_id) WHERE token_id IS NOT NULL;
-- Of a token for `platform dev`.
ALTER TABLE ai_token ADD COLUMN parent_id text;
CREATE INDEX ai_token_parent ON ai_token (parent_id) WHERE parent_id IS NOT NULL;

ALTER TABLE deploy_hook ADD COLUMN created_by text;
-- Earlier ones: the audit log knows.
UPDATE deploy_hook SET created_by = (
  SELECT coalesce(t.account_id, e.actor_id) FROM audit_event e LEFT JOIN token t ON e.actor_kind = 'token' AND t.id = e.actor_id
   WHERE e.action = 'deploy_hook.create' AND e.subject_id = deploy_hook.id ORDER BY e.seq LIMIT 1);

-- A trigger, so that it holds whoever revokes or deletes a token. Sessions elsewhere (Redis) are asked about as they come.
CREATE FUNCTION end_with_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE control.token SET revoked_at = now() WHERE parent_id = OLD.id AND revoked_at IS NULL;
  DELETE FROM control.session WHERE token_id = OLD.id;
  DELETE FROM control.ai_token WHERE parent_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER token_end AFTER UPDATE OF revoked_at ON token FOR EACH ROW
  WHEN (NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL) EXECUTE FUNCTION end_with_token();
CREATE TRIGGER token_delete AFTER DELETE ON token FOR EACH ROW EXECUTE FUNCTION end_with_token();
