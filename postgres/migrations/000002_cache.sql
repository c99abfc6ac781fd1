-- What may go away at any time, also in a crash of the server: so it is not written to the log of changes.
SET LOCAL search_path = binding;

CREATE UNLOGGED TABLE cache_record (
  namespace text NOT NULL,
  key text NOT NULL,
  head text NOT NULL,
  body bytea,
  expires_at bigint NOT NULL,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX cache_record_expiry ON cache_record (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON cache_record TO platform_engine;
