-- Which projects' databases may have messages in their outbox (runtime/stores/outbox.ts): only those are looked at.
SET LOCAL search_path = binding;

CREATE TABLE outbox_database (
  namespace text NOT NULL,
  resource text NOT NULL,
  touched_at bigint NOT NULL,
  check_at bigint NOT NULL,
  PRIMARY KEY (namespace, resource)
);
CREATE INDEX outbox_database_due ON outbox_database (check_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_database TO platform_engine;
