-- Alerts of projects, and of the operator where there is no project: control/alerts/.
SET LOCAL search_path = control;

-- Where alerts are sent to.
CREATE TABLE alert_channel (
  id text PRIMARY KEY,
  project_id text REFERENCES project ON DELETE CASCADE,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('webhook', 'slack', 'discord', 'mail')),
  -- What of its target may be shown: a host, or a mail address.
  target text NOT NULL,
  -- {url, secret?} or {to}, encrypted.
  secret bytea NOT NULL,
  -- May lead to a private address: an operator has said so.
  is_private boolean NOT NULL DEFAULT false,
  tested_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX alert_channel_project ON alert_channel (project_id);

CREATE TABLE alert_rule (
  id text PRIMARY KEY,
  project_id text REFERENCES project ON DELETE CASCADE,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('error_rate', 'cpu_budget', 'certificate', 'disk')),
  -- It fires at this value and above, and resolves below the other.
  threshold double precision NOT NULL,
  clear_below double precision NOT NULL,
  window_seconds integer NOT NULL,
  -- In a row that have to be over before it fires.
  evaluations integer NOT NULL,
  -- Between the beginnings of two alerts, at least.
  quiet_seconds integer NOT NULL,
  channels text[] NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  is_firing boolean NOT NULL DEFAULT false,
  over_count integer NOT NULL DEFAULT 0,
  fired_at timestamptz,
  -- Of the last evaluation; null: there was nothing to measure.
  value double precision,
  message text NOT NULL DEFAULT '',
  evaluated_at timestamptz,
  next_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX alert_rule_project ON alert_rule (project_id);
CREATE INDEX alert_rule_next ON alert_rule (next_at) WHERE enabled;

CREATE TABLE alert_event (
  id text PRIMARY KEY,
  project_id text REFERENCES project ON DELETE CASCADE,
  -- Null: a test of a channel.
  rule_id text REFERENCES alert_rule ON DELETE CASCADE,
  type text NOT NULL CHECK (type IN ('fired', 'resolved', 'test')),
  name text NOT NULL,
  value double precision,
  message text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX alert_event_project ON alert_event (project_id, created_at DESC);

CREATE TABLE alert_delivery (
  id text PRIMARY KEY,
  event_id text NOT NULL REFERENCES alert_event ON DELETE CASCADE,
  channel_id text NOT NULL REFERENCES alert_channel ON DELETE CASCADE,
  attempt integer NOT NULL DEFAULT 0,
  due_at timestamptz,
  lease_until timestamptz,
  status integer,
  error text,
  delivered_at timestamptz
);
CREATE INDEX alert_delivery_event ON alert_delivery (event_id);
CREATE INDEX alert_delivery_due ON alert_delivery (due_at) WHERE due_at IS NOT NULL;
