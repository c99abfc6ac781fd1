// `platform restore <backup>`: puts a backup in the place of the platform on this machine, which must not run.
// operations/restore/ does it.
import { defineCommand } from 'citty';
import { passphraseOf } from '#operations/backup/run.ts';
import { openBackupAt } from '#operations/restore/find.ts';
import { restoreBackup } from '#operations/restore/restore.ts';
import { placesOf } from '#operations/places.ts';
import { dataFolder, isCheckout } from '../local/locations.ts';
import { confirm, yesFlag } from '../terminal/confirm.ts';
import type { Shell } from '../terminal/shell.ts';
import { formatBytes, print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'restore', description: 'Put a backup in the place of the platform on this machine' },
  args: {
    backup: {
      type: 'positional',
      required: true,
      description: 'File, or s3://bucket/prefix (its newest) or s3://bucket/prefix/name',
    },
    force: {
      type: 'boolean',
      description: 'Replace what is there: a data folder is set aside, an external database emptied',
    },
    check: { type: 'boolean', description: 'Verify every byte of the backup, and change nothing' },
    'without-keys': { type: 'boolean', description: 'Restore although the key of encrypted values is not here' },
    ...yesFlag,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const folder = dataFolder(shell);
    const backup = await openBackupAt(args.backup, shell.cwd, shell.env, passphraseOf(shell.env));
    try {
      const { createdAt, platform, parts } = backup.manifest;
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
      if (args.check === true) {
        await backup.verify((done) => shell.progress(`Verified ${formatBytes(done)} of ${formatBytes(bytes)}`));
        print(shell, args.json, { ok: true, createdAt, platform, bytes, parts: parts.length }, () =>
          shell.out(
            `${shell.paint('green', 'Whole')}: ${parts.length} parts, ${formatBytes(bytes)}, of ${createdAt}, by version ${platform}`,
          ),
        );
        return 0;
      }
      if (args.force === true)
        await confirm(shell, args.yes, `What is in ${folder} is set aside, and an external database is emptied.`);
      const report = await restoreBackup({
        backup,
        places: placesOf(shell.env, folder),
        force: args.force === true,
        withoutKeys: args['without-keys'] === true,
        onProgress: (what) => shell.progress(what),
      });
      print(shell, args.json, { createdAt, ...report }, () => {
        shell.out(`${shell.paint('green', 'Restored')} the backup of ${createdAt} into ${shell.paint('bold', folder)}`);
        shell.out(`  ${report.rows} rows, ${report.databases} databases, ${report.files} files`);
        if (report.aside !== null) shell.out(`  What was there is in ${report.aside}: delete it when all is well`);
        for (const what of report.leftOut) shell.out(shell.paint('yellow', `  Was not in it: ${what}`));
        const named = (shell.env['FS_PATH'] ?? '') === '' ? '' : `FS_PATH=${quoted(folder)} `;
        shell.out(`  Start it: \`${named}${isCheckout ? 'npm start' : 'platform start'}\``);
      });
      return 0;
    } finally {
      await backup.close();
    }
  },
});

/** As a shell takes it. */
function quoted(folder: string): string {
  return /^[\w./@:+-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`;
}
