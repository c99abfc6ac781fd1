-- Finds the calls between projects of a time among all spans (control/telemetry/calls.ts).
SET LOCAL search_path = control;

CREATE INDEX span_call ON span (project_id, at) WHERE kind = 3 AND attributes ? 'peer.service';
