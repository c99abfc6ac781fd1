// The rule about migrations, on statements written down here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFinding } from '#test/tidy/findings.ts';
import { migrationFindings } from '#test/tidy/migration-rules.ts';

const versions = [
  { version: '0.2.0', worksFrom: '0.2.0', migrationsBefore: 1 },
  { version: '0.3.0', worksFrom: '0.2.0', migrationsBefore: 3 },
];

/** Findings of a migration of version 0.3.0 with this text. */
function told(text: string): string[] {
  return migrationFindings({ 'postgres/migrations/000004_test.sql': text }, versions).map((one) =>
    formatFinding(one).replace(/^postgres\/migrations\/000004_test\.sql:(\d+) ([^,:]*).*$/, '$1 $2'),
  );
}

test('a statement that breaks processes of the version before is found', () => {
  for (const [text, says] of [
    ['DROP TABLE control.domain', 'drops it'],
    ['DROP VIEW machine_now', 'drops it'],
    ['DROP FUNCTION ai_reserve(text)', 'drops it'],
    ['ALTER TABLE lane RENAME COLUMN due TO due_at', 'renames it'],
    ['ALTER TABLE lane\n  RENAME TO lanes', 'renames it'],
    ['ALTER TABLE lane DROP COLUMN due', 'drops a column'],
    ['ALTER TABLE lane ADD COLUMN a text, DROP due', 'drops a column'],
    ['ALTER TABLE lane ALTER COLUMN due TYPE date', 'changes a type'],
    ['ALTER TABLE lane ALTER due SET NOT NULL', 'makes a column NOT NULL'],
    ['ALTER TABLE lane ALTER COLUMN due DROP DEFAULT', 'drops a constraint or a default'],
    ['ALTER TABLE lane DROP CONSTRAINT lane_key', 'drops a constraint or a default'],
    ["ALTER TABLE lane ADD CONSTRAINT kinds CHECK (kind IN ('a'))", 'adds a constraint'],
    ['ALTER TABLE lane ADD UNIQUE (kind)', 'adds a constraint'],
    ['ALTER TABLE lane ADD COLUMN a text NOT NULL', 'adds a column NOT NULL without a default'],
    [
      "ALTER TABLE lane ADD COLUMN b text DEFAULT '', ADD COLUMN a text NOT NULL",
      'adds a column NOT NULL without a default',
    ],
    ['CREATE UNIQUE INDEX lane_due ON lane (due)', 'adds a constraint'],
    ['CREATE UNIQUE INDEX lane_due ON lane (due);\nDROP INDEX lane_due', 'adds a constraint'],
    ['REVOKE ALL ON lane FROM platform_engine', 'takes a right'],
    ["DO $$ BEGIN EXECUTE 'ALTER TABLE lane DROP due'; END $$", 'changes what nobody can read from it'],
  ] as const)
    assert.equal(told(`SET LOCAL search_path = control;\n\n${text};\n`)[0], `3 ${says}`, text);
});

test('what processes of the version before survive is not found', () => {
  for (const text of [
    "ALTER TABLE lane ADD COLUMN a text NOT NULL DEFAULT ''",
    'ALTER TABLE lane ADD COLUMN a text, ADD COLUMN b bigint',
    'ALTER TABLE lane ALTER COLUMN due DROP NOT NULL',
    'CREATE TABLE made (a text NOT NULL);\nALTER TABLE made ADD UNIQUE (a);\nCREATE UNIQUE INDEX made_a ON made (a)',
    'CREATE INDEX lane_due ON lane (due);\nDROP INDEX lane_due',
    "COMMENT ON TABLE lane IS 'DROP TABLE lane; DROP TABLE lane'",
    '-- DROP TABLE lane;\nCREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ DROP TABLE x; $$',
  ])
    assert.deepEqual(told(`${text};\n`), [], text);
});

test('a mark lets it pass, if the version that it names came before that of the migration', () => {
  const dropped = 'DROP TABLE domain;\n';
  assert.deepEqual(told(`-- unused since 0.2.0: domains are hosts\n${dropped}`), []);
  assert.deepEqual(told(`-- compatible: nothing was ever in it\n${dropped}`), []);
  assert.deepEqual(told(`-- unused since 0.2.0:\n${dropped}`), ['2 drops it']);
  assert.deepEqual(told(`-- unused since 0.3.0: domains are hosts\n${dropped}`), ['2 is a migration of version 0.3.0']);
  // The mark is for one statement.
  assert.deepEqual(told(`-- unused since 0.2.0: domains are hosts\n${dropped}${dropped}`), ['3 drops it']);
});

test('migrations from before versions worked side by side are left alone', () => {
  assert.deepEqual(migrationFindings({ 'postgres/migrations/000001_old.sql': 'DROP TABLE lane;' }, versions), []);
});
