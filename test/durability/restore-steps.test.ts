// A restore that is cut off at each of its steps; test/integration/backup.test.ts has two of them.
import { after, before, test } from 'node:test';
import { expectRestoreGoesOn, openBackupSource, type BackupSource } from '#test/setup/backup-cases.ts';

let source: BackupSource;
before(async () => {
  source = await openBackupSource();
});
after(() => source.close());

for (const step of ['verified', 'marked', 'cleared', 'files', 'tables'] as const)
  test(`a restore that is cut off behind "${step}" is ended by the same command, and what was there is whole beside it`, () =>
    expectRestoreGoesOn(source, step));
