-- The AI gateway: its tokens, room under limits, what was used, and what organizations set themselves: control/gateway/.
SET LOCAL search_path = control;

CREATE TABLE ai_token (
  -- SHA-256 of the token.
  hash bytea PRIMARY KEY,
  id text NOT NULL UNIQUE,
  kind text NOT NULL CHECK (kind IN ('worker', 'agent', 'sandbox', 'dev', 'key')),
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  project_id text REFERENCES project ON DELETE CASCADE,
  deployment_id text REFERENCES deployment ON DELETE CASCADE,
  branch text,
  run_id text,
  -- Of a key of the organization: what people call it, and its first characters.
  name text NOT NULL DEFAULT '',
  hint text NOT NULL DEFAULT '',
  -- Of such a key too: [{of: requests or tokens, per: minute, day or month, most}].
  limits jsonb NOT NULL DEFAULT '[]',
  created_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Null: it lives as long as what it belongs to.
  expires_at timestamptz
);
CREATE INDEX ai_token_organization ON ai_token (organization_id);
CREATE INDEX ai_token_project ON ai_token (project_id);
CREATE INDEX ai_token_deployment ON ai_token (deployment_id);
CREATE INDEX ai_token_expiry ON ai_token (expires_at) WHERE expires_at IS NOT NULL;

-- Providers of an organization, beside the operator's.
CREATE TABLE ai_provider (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  -- The part of `provider/model` before the slash.
  name text NOT NULL,
  kind text NOT NULL,
  url text NOT NULL,
  -- Encrypted; null: it wants none.
  key bytea,
  models text[] NOT NULL DEFAULT '{}',
  enabled boolean NOT NULL DEFAULT true,
  created_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, name)
);

-- What an organization sets for itself, and for its projects.
CREATE TABLE ai_settings (
  organization_id text NOT NULL REFERENCES organization ON DELETE CASCADE,
  -- Null: the organization.
  project_id text REFERENCES project ON DELETE CASCADE,
  -- {name: 'provider/model'}; of the organization only.
  aliases jsonb NOT NULL DEFAULT '{}',
  -- What `auto` tries in turn; of the organization only.
  auto text[] NOT NULL DEFAULT '{}',
  -- [{of: requests or tokens, per: minute, day or month, most}]: beside those of the plan.
  limits jsonb NOT NULL DEFAULT '[]',
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX ai_settings_organization ON ai_settings (organization_id) WHERE project_id IS NULL;
CREATE UNIQUE INDEX ai_settings_project ON ai_settings (project_id) WHERE project_id IS NOT NULL;

-- One row a call. It outlives the deployment that made the call.
CREATE TABLE ai_usage (
  id text NOT NULL,
  at timestamptz NOT NULL,
  kind text NOT NULL,
  organization_id text NOT NULL,
  project_id text,
  deployment_id text,
  branch text,
  run_id text,
  -- Of the organization; null: the call came with none.
  key_id text,
  plan text NOT NULL,
  model_requested text NOT NULL,
  -- provider/model; null: none answered.
  model text,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  is_estimated boolean NOT NULL,
  -- Millionths; null: the model has no price.
  cost_micros bigint,
  status integer NOT NULL,
  is_stream boolean NOT NULL,
  first_byte_ms double precision,
  total_ms double precision NOT NULL
);
-- A batch that is written again adds nothing.
CREATE UNIQUE INDEX ai_usage_id ON ai_usage (id);
CREATE INDEX ai_usage_organization ON ai_usage (organization_id, at DESC, id DESC);
CREATE INDEX ai_usage_run ON ai_usage (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX ai_usage_at ON ai_usage USING brin (at);

-- What was used of a limit in a window of time.
CREATE TABLE ai_counter (
  -- Such as 'organization org_1 tokens day'.
  key text NOT NULL,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  used bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (key, starts_at)
) WITH (fillfactor = 70);
CREATE INDEX ai_counter_end ON ai_counter (ends_at);

-- What calls under way may still use, by the process that makes them. It counts as long as the process lives; after a
-- crash of the server no call is under way that anybody knows of.
CREATE UNLOGGED TABLE ai_held (
  key text NOT NULL,
  starts_at timestamptz NOT NULL,
  holder text NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (key, starts_at, holder)
) WITH (fillfactor = 70);
CREATE UNLOGGED TABLE ai_holder (
  id text PRIMARY KEY,
  lease_until timestamptz NOT NULL
);

-- Adds to counters what calls have used, and gives back what was held for them. Everybody takes the rows in the order of
-- their keys: those that are missing first, then the locks.
CREATE FUNCTION ai_settle(of_holder text, keys text[], starts timestamptz[], ends timestamptz[],
  used_more bigint[], held_less bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM unnest(keys, starts) AS w (key, starts_at)
     WHERE NOT EXISTS (SELECT FROM control.ai_counter c WHERE c.key = w.key AND c.starts_at = w.starts_at)
  ) THEN
    INSERT INTO control.ai_counter (key, starts_at, ends_at)
    SELECT w.key, w.starts_at, w.ends_at FROM unnest(keys, starts, ends) AS w (key, starts_at, ends_at)
     ORDER BY w.key, w.starts_at
        ON CONFLICT DO NOTHING;
  END IF;
  PERFORM FROM control.ai_counter c JOIN unnest(keys, starts) AS w (key, starts_at)
    ON c.key = w.key AND c.starts_at = w.starts_at
   ORDER BY c.key, c.starts_at FOR UPDATE OF c;
  UPDATE control.ai_counter c SET used = c.used + w.used_more
    FROM unnest(keys, starts, used_more) AS w (key, starts_at, used_more)
   WHERE c.key = w.key AND c.starts_at = w.starts_at AND w.used_more <> 0;
  UPDATE control.ai_held h SET amount = greatest(0, h.amount - w.held_less)
    FROM unnest(keys, starts, held_less) AS w (key, starts_at, held_less)
   WHERE h.key = w.key AND h.starts_at = w.starts_at AND h.holder = of_holder AND w.held_less <> 0;
END $$;

-- Takes room for one call from every limit, or from none: requests are used at once, tokens are held. Answers what each
-- limit had before, and whether it was taken. What the process has to settle of these limits is settled first.
CREATE FUNCTION ai_reserve(of_holder text, keys text[], starts timestamptz[], ends timestamptz[],
  used_more bigint[], held_less bigint[], is_tokens boolean[], most bigint[], tokens bigint)
RETURNS TABLE (used bigint, held bigint, is_taken boolean) LANGUAGE plpgsql AS $$
DECLARE
  fits boolean;
  used_before bigint[];
  held_before bigint[];
BEGIN
  PERFORM control.ai_settle(of_holder, keys, starts, ends, used_more, held_less);
  -- The rows are locked: a statement that begins now sees what all others have taken.
  SELECT array_agg(l.used ORDER BY l.n), array_agg(l.held ORDER BY l.n),
         -- A call that is larger than all that is left passes where it is the only one: it passes the limit alone.
         bool_and(CASE WHEN l.is_tokens
           THEN l.used + l.held + tokens <= l.most OR (l.held = 0 AND l.used < l.most)
           ELSE l.used < l.most END)
    INTO used_before, held_before, fits
    FROM (
      SELECT w.n, w.is_tokens, w.most, c.used, coalesce((
          SELECT sum(h.amount) FROM control.ai_held h JOIN control.ai_holder o ON o.id = h.holder
           WHERE h.key = w.key AND h.starts_at = w.starts_at AND o.lease_until > clock_timestamp()), 0)::bigint AS held
        FROM unnest(keys, starts, is_tokens, most) WITH ORDINALITY AS w (key, starts_at, is_tokens, most, n)
        JOIN control.ai_counter c ON c.key = w.key AND c.starts_at = w.starts_at
    ) AS l;
  IF fits THEN
    UPDATE control.ai_counter c SET used = c.used + 1
      FROM unnest(keys, starts, is_tokens) AS w (key, starts_at, is_tokens)
     WHERE c.key = w.key AND c.starts_at = w.starts_at AND NOT w.is_tokens;
    INSERT INTO control.ai_held AS h (key, starts_at, holder, amount)
    SELECT w.key, w.starts_at, of_holder, tokens FROM unnest(keys, starts, is_tokens) AS w (key, starts_at, is_tokens)
     WHERE w.is_tokens
        ON CONFLICT (key, starts_at, holder) DO UPDATE SET amount = h.amount + excluded.amount;
  END IF;
  RETURN QUERY SELECT b.used, b.held, fits FROM unnest(used_before, held_before) WITH ORDINALITY AS b (used, held, n)
   ORDER BY b.n;
END $$;

-- A token ends with what it belongs to, whoever takes that away.
CREATE FUNCTION ai_end_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'project' THEN
    DELETE FROM control.ai_token WHERE project_id = NEW.id;
  ELSE
    DELETE FROM control.ai_token WHERE deployment_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER deployment_ai_tokens AFTER UPDATE OF removed_at ON deployment FOR EACH ROW
  WHEN (NEW.removed_at IS NOT NULL AND OLD.removed_at IS NULL) EXECUTE FUNCTION ai_end_tokens();
CREATE TRIGGER project_ai_tokens AFTER UPDATE OF deleted_at ON project FOR EACH ROW
  WHEN (NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL) EXECUTE FUNCTION ai_end_tokens();

-- Gateways remember tokens and settings for a while: they hear at once of those that are no more.
CREATE FUNCTION ai_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'ai_token' THEN
    PERFORM pg_notify('control_ai', 'token ' || encode(OLD.hash, 'hex'));
  ELSIF TG_TABLE_NAME = 'organization' THEN
    -- Its plan is part of what is remembered of each of its tokens.
    PERFORM pg_notify('control_ai', 'plan ' || OLD.id);
  ELSE
    PERFORM pg_notify('control_ai', 'organization ' || coalesce(NEW.organization_id, OLD.organization_id));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER ai_token_tell AFTER UPDATE OR DELETE ON ai_token FOR EACH ROW EXECUTE FUNCTION ai_tell();
-- The limits of a key are among the settings of its organization.
CREATE FUNCTION ai_tell_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('control_ai', 'organization ' || NEW.organization_id);
  RETURN NULL;
END $$;
CREATE TRIGGER ai_key_tell AFTER INSERT OR UPDATE ON ai_token FOR EACH ROW
  WHEN (NEW.kind = 'key') EXECUTE FUNCTION ai_tell_key();
CREATE TRIGGER organization_ai_tell AFTER UPDATE OF plan ON organization FOR EACH ROW
  WHEN (NEW.plan IS DISTINCT FROM OLD.plan) EXECUTE FUNCTION ai_tell();
CREATE TRIGGER ai_provider_tell AFTER INSERT OR UPDATE OR DELETE ON ai_provider
  FOR EACH ROW EXECUTE FUNCTION ai_tell();
CREATE TRIGGER ai_settings_tell AFTER INSERT OR UPDATE OR DELETE ON ai_settings
  FOR EACH ROW EXECUTE FUNCTION ai_tell();
