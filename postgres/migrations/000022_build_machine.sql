-- Size of the machines that an organization's builds run on where those are sandboxes (core/sandbox/options.ts); null: as
-- the operator has it.
ALTER TABLE control.organization
  ADD COLUMN build_machine text CHECK (build_machine IN ('small', 'default', 'large', 'xlarge'));
