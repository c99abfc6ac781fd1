-- Which engine has a durable object. `fence` is the number of its holder: it only grows, and the object's storage refuses
-- a holder with a smaller one. Times are milliseconds since 1970, by the clock of this server.
SET LOCAL search_path = binding;

-- An engine that has objects says so again and again; one that has not for a while has none any more.
CREATE TABLE object_engine (
  holder text PRIMARY KEY,
  link text NOT NULL,
  seen_at bigint NOT NULL
);

CREATE TABLE object_lease (
  namespace text NOT NULL,
  id text NOT NULL,
  holder text NOT NULL,
  fence bigint NOT NULL,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX object_lease_holder ON object_lease (holder);
