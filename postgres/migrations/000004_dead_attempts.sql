-- How often a dead letter was tried in the queue it comes from: where it lies its attempts count from the beginning.
SET LOCAL search_path = binding;

ALTER TABLE queue_message ADD COLUMN dead_attempts integer NOT NULL DEFAULT 0;
