// Main module of the process that creates one scheduled backup: reads the environment and logs the result. Started and
// stopped by the supervisor (runtime/supervisor/services/backup-schedule.ts).
import { createRequire } from 'node:module';
import { setPriority } from 'node:os';
import { isFailure } from '#core/failure.ts';
import { openLog } from '#core/log/log.ts';
import { keepOf, runBackup } from './run.ts';

const log = openLog('backup', process.env);
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

// The next backup removes unfinished files.
process.on('disconnect', () => process.exit(1));
process.on('SIGTERM', () => process.exit(1));

try {
  // Requests have priority.
  setPriority(10);
} catch {
  // The system does not permit lower priorities on this machine.
}
try {
  const { folder, environment } = { folder: process.env['FS_PATH'] ?? '', environment: process.env };
  const report = await runBackup({ folder, environment, cwd: folder, version, keep: keepOf(environment) });
  const { location, bytes, writtenBytes, rows, databases, files, removed, leftOut } = report;
  log.info({ location, bytes, writtenBytes, rows, databases, files, removed, leftOut }, 'Backup made');
  process.exit(0);
} catch (error) {
  const { message } = error as Error;
  log.error({ error: message, advice: isFailure(error, 'backup') ? error.advice : null }, 'Backup failed');
  process.exit(1);
}
