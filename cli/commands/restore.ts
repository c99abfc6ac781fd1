// `platform restore <backup>`: replaces the data of the platform on this machine, which must be stopped, with a backup.
// Uses operations/restore/.
import { defineCommand } from 'citty';
import { passphraseOf } from '#operations/backup/run.ts';
import { openBackupAt } from '#operations/restore/find.ts';
import { restoreBackup } from '#operations/restore/restore.ts';
import { locationsOf } from '#operations/locations.ts';
import { dataFolder, isCheckout } from '../local/locations.ts';
import { confirm, yesFlag } from '../terminal/confirm.ts';
import type { Shell } from '../terminal/shell.ts';
import { formatBytes, print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'restore', description: 'Restore a backup to the platform on this machine' },
  args: {
    backup: {
      type: 'positional',
      required: true,
      description: 'File, s3://bucket/prefix (newest backup) or s3://bucket/prefix/name',
    },
    force: {
      type: 'boolean',
      description: 'Replace existing data: moves the data folder aside and empties an external database',
    },
    check: { type: 'boolean', description: 'Verify the backup without restoring it' },
    'without-keys': { type: 'boolean', description: 'Restore without the key of encrypted values' },
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
            `${shell.paint('green', 'Verified')}: ${parts.length} parts, ${formatBytes(bytes)}, of ${createdAt}, by version ${platform}`,
          ),
        );
        return 0;
      }
      if (args.force === true)
        await confirm(shell, args.yes, `${folder} will be moved aside, and an external database emptied.`);
      const report = await restoreBackup({
        backup,
        locations: locationsOf(shell.env, folder),
        force: args.force === true,
        withoutKeys: args['without-keys'] === true,
        onProgress: (what) => shell.progress(what),
      });
      print(shell, args.json, { createdAt, ...report }, () => {
        shell.out(`${shell.paint('green', 'Restored')} the backup of ${createdAt} into ${shell.paint('bold', folder)}`);
        shell.out(`  ${report.rows} rows, ${report.databases} databases, ${report.files} files`);
        if (report.aside !== null)
          shell.out(`  The previous data is in ${report.aside}: delete it when you no longer need it`);
        for (const what of report.leftOut) shell.out(shell.paint('yellow', `  Not in the backup: ${what}`));
        const named = (shell.env['FS_PATH'] ?? '') === '' ? '' : `FS_PATH=${quoted(folder)} `;
        shell.out(`  Start it: \`${named}${isCheckout ? 'npm start' : 'platform start'}\``);
      });
      return 0;
    } finally {
      await backup.close();
    }
  },
});

/** Quotes a path for the shell. */
function quoted(folder: string): string {
  return /^[\w./@:+-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`;
}
