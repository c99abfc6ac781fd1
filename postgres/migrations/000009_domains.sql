-- Proof of custom domains over time: when it is looked for next, and since when it is missing.
SET LOCAL search_path = control;

ALTER TABLE domain ADD COLUMN checked_at timestamptz;
ALTER TABLE domain ADD COLUMN failing_since timestamptz;
-- Null: not any more by itself, only when somebody asks.
ALTER TABLE domain ADD COLUMN next_check_at timestamptz DEFAULT now();
CREATE INDEX domain_next_check ON domain (next_check_at) WHERE next_check_at IS NOT NULL;

-- Who had a host last. It outlives the domain: a CNAME that is left behind proves nothing for another organization.
CREATE TABLE domain_owner (
  hostname text PRIMARY KEY,
  organization_id text NOT NULL,
  proved_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO domain_owner (hostname, organization_id, proved_at)
  SELECT d.hostname, p.organization_id, d.verified_at FROM domain d JOIN project p ON p.id = d.project_id
  WHERE d.verified_at IS NOT NULL;
