// `platform backup`: writes all data of a running platform to a file or an S3 bucket, using operations/backup/.
import path from 'node:path';
import { defineCommand } from 'citty';
import { runBackup, targetOf } from '#operations/backup/run.ts';
import { backupsIn } from '#operations/backup/retention.ts';
import { dataFolder } from '../local/locations.ts';
import { programVersion } from '../local/program-version.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { formatBytes, print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'backup', description: 'Back up all data of the platform on this machine' },
  args: {
    out: {
      type: 'string',
      valueHint: 'target',
      description: 'File, folder or s3://bucket/prefix (default: BACKUP_TARGET, else backups/ in the data folder)',
    },
    keys: {
      type: 'boolean',
      description: 'Include the keys of the platform (default: if BACKUP_PASSPHRASE is set)',
    },
    bucket: {
      type: 'boolean',
      description: 'Include files from the bucket of FILES_S3_*, for example to move them to a disk',
    },
    keep: {
      type: 'string',
      valueHint: 'n',
      description: 'Keep only the newest n backups in the target (default: keep all)',
    },
    list: { type: 'boolean', description: 'List the backups in the target instead' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const folder = dataFolder(shell);
    if (args.list === true) {
      const names = await backupsIn(targetOf(shell.env, folder, shell.cwd, args.out));
      print(shell, args.json, { backups: names }, () => names.forEach((name) => shell.out(name)));
      return 0;
    }
    const keep = args.keep === undefined ? null : Number(args.keep);
    if (keep !== null && !(Number.isInteger(keep) && keep >= 1))
      throw new CliError(`--keep takes a whole number of at least 1, not ${args.keep}`, { exitCode: 2 });
    let shownAt = 0;
    const report = await runBackup({
      folder,
      environment: shell.env,
      cwd: shell.cwd,
      version: programVersion(),
      out: args.out,
      withKeys: args.keys,
      withBucket: args.bucket,
      keep,
      onProgress({ parts, bytes, last }) {
        if (performance.now() - shownAt < 100) return;
        shownAt = performance.now();
        shell.progress(`${formatBytes(bytes)}, ${parts} parts: ${last}`);
      },
    });
    print(shell, args.json, report, () => {
      shell.out(
        `${shell.paint('green', 'Backed up')} ${formatBytes(report.bytes)} to ${shell.paint('bold', report.location)}`,
      );
      shell.out(
        `  ${report.rows} rows of ${report.tables} tables, ${report.databases} databases, ${report.files} files, ${report.artifacts} artifacts; ${formatBytes(report.writtenBytes)} written`,
      );
      if (!report.isEncrypted)
        shell.out(
          '  Not encrypted, and contains variables of deployments: store it securely, or set BACKUP_PASSPHRASE',
        );
      for (const what of report.leftOut) shell.out(shell.paint('yellow', `  Not included: ${what}`));
      if (report.location.startsWith(`${folder}${path.sep}`))
        shell.out(shell.paint('yellow', '  Stored on the same disk as the data: copy it to another machine'));
      if (report.removed.length > 0) shell.out(`  Removed: ${report.removed.join(', ')}`);
    });
    return 0;
  },
});
