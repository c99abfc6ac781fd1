-- Rows of durable objects that nothing holds are deleted after a while. `fence` is at least the number of each row that
-- was deleted: holders after that get a larger one, also after the clock of this server was put back.
SET LOCAL search_path = binding;

CREATE TABLE object_floor (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  fence bigint NOT NULL
);
INSERT INTO object_floor (fence) VALUES (0);
