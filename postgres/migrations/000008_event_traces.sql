-- The trace that a message, a timer or a run belongs to, as `traceparent` has it: whoever delivers it goes on with it.
SET LOCAL search_path = binding;

ALTER TABLE queue_message ADD COLUMN trace text;
ALTER TABLE timer ADD COLUMN trace text;
ALTER TABLE workflow_execution ADD COLUMN trace text;
