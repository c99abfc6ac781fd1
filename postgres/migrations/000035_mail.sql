-- Emails that wait to be sent, and what became of the last ones (control/outbound/mail-queue.ts).
SET LOCAL search_path = control;

CREATE TABLE mail (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Of an app, as its engine names it; null: an email of the platform.
  project text,
  recipient text NOT NULL,
  subject text NOT NULL,
  -- Of an app: engines have no key, and cannot read the table.
  body text,
  -- Encrypted: emails of the platform hold links that give access to accounts.
  sealed bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  attempt integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  lease_until timestamptz,
  CHECK ((body IS NULL) <> (sealed IS NULL))
);
CREATE INDEX mail_due ON mail (due_at);

-- The last email that was taken, and the last that was given up.
CREATE TABLE mail_outcome (
  kind text PRIMARY KEY CHECK (kind IN ('sent', 'failed')),
  at timestamptz NOT NULL,
  count bigint NOT NULL,
  project text,
  -- Without most of the part before the @.
  recipient text NOT NULL,
  error text,
  -- Of the mail server.
  reply text
);

-- What engines may hand over; written by the API process.
CREATE TABLE mail_channel (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  is_on boolean NOT NULL,
  project_hour_max integer NOT NULL,
  hour_max integer NOT NULL,
  waiting_max integer NOT NULL
);
INSERT INTO mail_channel (is_on, project_hour_max, hour_max, waiting_max) VALUES (false, 0, 0, 0);

CREATE FUNCTION binding.sends_mail() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT is_on FROM control.mail_channel
$$;

-- Hands over an email of an app. Returns null, or why it was not accepted: 'off', 'project_rate', 'rate', 'full'.
CREATE FUNCTION binding.send_mail(of_project text, to_address text, of_subject text, of_body text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  channel control.mail_channel;
  used integer;
BEGIN
  IF of_project !~ '^[a-z0-9-]{1,100}$' OR length(to_address) > 254 OR length(of_subject) > 200
     OR octet_length(of_body) > 65536 OR to_address !~ '^[^[:space:][:cntrl:]@<>,;:"()]+@[^[:space:][:cntrl:]@<>,;:"()]+$'
     OR of_subject ~ '[[:cntrl:]]' THEN
    RAISE EXCEPTION 'no email of an app';
  END IF;
  SELECT * INTO channel FROM control.mail_channel;
  IF NOT channel.is_on THEN RETURN 'off'; END IF;
  -- Before the count of the project: an engine that is taken over may name projects without end.
  IF EXISTS (SELECT FROM control.rate r
              WHERE r.key = 'app-mail:' AND r.window_start = date_trunc('hour', now()) AND r.count >= channel.hour_max) THEN
    RETURN 'rate';
  END IF;
  INSERT INTO control.rate AS r (key, window_start, count) VALUES ('app-mail:' || of_project, date_trunc('hour', now()), 1)
    ON CONFLICT (key, window_start) DO UPDATE SET count = r.count + 1 RETURNING r.count INTO used;
  IF used > channel.project_hour_max THEN RETURN 'project_rate'; END IF;
  INSERT INTO control.rate AS r (key, window_start, count) VALUES ('app-mail:', date_trunc('hour', now()), 1)
    ON CONFLICT (key, window_start) DO UPDATE SET count = r.count + 1;
  IF (SELECT count(*) FROM (SELECT FROM control.mail LIMIT channel.waiting_max) AS waiting) >= channel.waiting_max THEN
    RETURN 'full';
  END IF;
  INSERT INTO control.mail (project, recipient, subject, body) VALUES (of_project, to_address, of_subject, of_body);
  PERFORM pg_notify('control_mail', '');
  RETURN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION binding.sends_mail, binding.send_mail FROM PUBLIC;
GRANT EXECUTE ON FUNCTION binding.sends_mail, binding.send_mail TO platform_engine;
