-- What a sandbox is made of, as its callers said last (core/sandbox/options.ts); what is missing is as the operator has it.
ALTER TABLE sandbox.sandbox ADD COLUMN options jsonb NOT NULL DEFAULT '{}';
