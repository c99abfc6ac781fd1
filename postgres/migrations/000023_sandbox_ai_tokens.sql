-- Tokens of the AI gateway in sandboxes: the sandbox service has them made and ended by two functions, and sees none of
-- the tokens there are. A token ends with the row of its sandbox.
ALTER TABLE control.ai_token ADD COLUMN sandbox_key text REFERENCES sandbox.sandbox ON DELETE CASCADE;
CREATE INDEX ai_token_sandbox ON control.ai_token (sandbox_key) WHERE sandbox_key IS NOT NULL;

-- Keeps the hash of a new token for an hour, for the project that the sandbox belongs to; those it had before end within
-- five minutes. False: there is no such sandbox, its project is none of the control plane, or it is one of the
-- platform's own, whose names begin with a dot.
CREATE FUNCTION sandbox.issue_ai_token(of_key text, token_id text, token_hash bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF octet_length(token_hash) <> 32 OR token_id !~ '^ait_[0-9a-z]{20}$' THEN
    RAISE EXCEPTION 'no token of the AI gateway';
  END IF;
  DELETE FROM control.ai_token t WHERE t.sandbox_key = of_key AND t.expires_at <= now();
  UPDATE control.ai_token t SET expires_at = now() + interval '5 minutes'
   WHERE t.sandbox_key = of_key AND t.expires_at > now() + interval '5 minutes';
  INSERT INTO control.ai_token (hash, id, kind, organization_id, project_id, sandbox_key, expires_at)
  SELECT token_hash, token_id, 'sandbox', p.organization_id, p.id, s.key, now() + interval '1 hour'
    FROM sandbox.sandbox s JOIN control.project p ON p.name = s.project AND p.deleted_at IS NULL
   WHERE s.key = of_key AND NOT starts_with(s.resource, '.');
  RETURN FOUND;
END $$;

CREATE FUNCTION sandbox.revoke_ai_tokens(of_key text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM control.ai_token t WHERE t.sandbox_key = of_key
$$;

REVOKE EXECUTE ON FUNCTION sandbox.issue_ai_token, sandbox.revoke_ai_tokens FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sandbox.issue_ai_token, sandbox.revoke_ai_tokens TO platform_sandbox;
