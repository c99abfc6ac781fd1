-- What the disk of a sandbox or a snapshot takes, as the sandbox service has seen it last; null: it cannot say.
ALTER TABLE sandbox.sandbox ADD COLUMN disk_bytes bigint;
