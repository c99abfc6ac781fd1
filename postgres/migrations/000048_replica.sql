-- Replicas of project databases in a bucket: whose they are, and the number of the newest database service that writes
-- them. A service with an older number stops.
SET LOCAL search_path = binding;

CREATE TABLE replica (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  installation uuid NOT NULL DEFAULT gen_random_uuid(),
  fence bigint NOT NULL DEFAULT 0
);
INSERT INTO replica DEFAULT VALUES;
