// `platform db import <file>`: imports a SQL or SQLite file into a database atomically. Uploads the file in chunks and
// shows progress.
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineCommand } from 'citty';
import { needResource, resourceFlags, type FoundResource } from '../../api/resource.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { formatBytes, print } from '../../terminal/table.ts';

const HEADER = 'SQLite format 3\0';
/** How often a chunk or another request is attempted. */
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 300;

/** The data to import. */
interface Source {
  readonly bytes: number;
  read(offset: number, length: number): Uint8Array<ArrayBuffer>;
  close(): void;
}

/** Progress of an import, as the API returns it. */
interface Progress {
  readonly state: 'unknown' | 'running' | 'done' | 'failed';
  readonly statements: number;
  readonly part: number;
  readonly reason: string | null;
  readonly leftOut: readonly string[];
}

export const command = defineCommand({
  meta: { name: 'import', description: 'Import a SQL or SQLite file into a database' },
  args: {
    file: { type: 'positional', required: true, description: 'SQL or SQLite file; - reads standard input' },
    database: {
      type: 'string',
      alias: 'd',
      valueHint: 'name',
      description: 'Binding or name of the database (default: the only one)',
    },
    replace: { type: 'boolean', description: 'Delete the existing data first' },
    ...yesFlag,
    ...resourceFlags,
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const source = args.file === '-' ? inMemory(await shell.input()) : onDisk(path.resolve(shell.cwd, args.file));
    try {
      const isFile = Buffer.from(source.read(0, HEADER.length)).toString('latin1') === HEADER;
      if (isFile && args.file !== '-') refuseUnwritten(args.file, path.resolve(shell.cwd, args.file));
      const found = await needResource(shell, args, 'db', args.database, 'platform db import');
      const whose = `${found.binding} of ${found.project.name} (${args.branch === undefined ? 'production' : `previews of ${args.branch}`})`;
      const replace = args.replace === true;
      const what = replace
        ? `will replace all data of ${whose}`
        : `will be ${isFile ? 'imported into' : 'run on'} ${whose}`;
      await confirm(shell, args.yes, `${args.file} ${what}.`);
      const startedAt = performance.now();
      const { statements, leftOut } = await imported(shell, found, source, replace);
      const durationMs = Math.round(performance.now() - startedAt);
      print(shell, args.json, { count: statements, durationMs, leftOut }, () => {
        shell.out(
          isFile
            ? `${shell.paint('green', 'Imported')} ${args.file} into ${found.binding} in ${durationMs} ms`
            : `${shell.paint('green', 'Ran')} ${statements} statements on ${found.binding} in ${durationMs} ms`,
        );
        if (leftOut.length > 0) shell.out(`Skipped: ${leftOut.join(', ')}`);
      });
    } finally {
      shell.progress(null);
      source.close();
    }
  },
});

/** Uploads the file, starts the import and waits for it. Stopping the program cancels the import. */
async function imported(shell: Shell, found: FoundResource, source: Source, replace: boolean): Promise<Progress> {
  const { api, query, binding } = found;
  const imports = `${found.path}/imports`;
  const begun = await ask<{ id: string; pieceBytesMax: number; bytesMax: number }>(api, 'POST', imports, { query });
  const at = `${imports}/${encodeURIComponent(begun.id)}`;
  const isStopped = { value: false };
  void shell.untilStopped().then(() => (isStopped.value = true));
  const goOn = (): void => {
    if (isStopped.value) throw new CliError('Canceled: nothing was changed');
  };
  try {
    if (source.bytes > begun.bytesMax)
      throw new CliError(
        `The file has ${formatBytes(source.bytes)}, more than DB_MAX_IMPORT_BYTES (${begun.bytesMax})`,
      );
    for (let offset = 0; offset < source.bytes;) {
      goOn();
      shell.progress(`Sending ${formatBytes(offset)} of ${formatBytes(source.bytes)}`);
      const bytes = source.read(offset, Math.min(begun.pieceBytesMax, source.bytes - offset));
      const sent = { query: { ...query, offset }, bytes, headers: { 'content-type': 'application/octet-stream' } };
      // A retry overwrites a chunk that was stored in part.
      ({ bytes: offset } = await again(() => ask<{ bytes: number }>(api, 'PUT', at, sent)));
    }
    const run = { query, body: { bytes: source.bytes, ...(replace && { replace }) } };
    let progress = await ask<Progress>(api, 'POST', `${at}/run`, run);
    while (progress.state === 'running') {
      goOn();
      const done = Math.floor(100 * progress.part);
      shell.progress(
        done < 100
          ? `Importing into ${binding}: ${done} %, ${progress.statements} statements`
          : `Importing into ${binding}: checking keys and indexes`,
      );
      // The API responds as soon as there is progress, or after a second.
      progress = await again(() => ask<Progress>(api, 'GET', at, { query }));
    }
    if (progress.state === 'done') return progress;
    if (progress.state === 'unknown')
      throw new CliError('The database service restarted during the import. The result is unknown', {
        advice: 'Check with `platform db insights`. Imports are atomic.',
      });
    throw refused(progress.reason ?? 'unknown reason');
  } catch (error) {
    await ask(api, 'DELETE', at, { query }).catch(() => {});
    throw error;
  }
}

function refused(reason: string): CliError {
  const isFull = reason.startsWith('the database is not empty');
  const isThere = /^(?:table|index|view|trigger) .* already exists/.test(reason);
  return new CliError(`Nothing was imported: ${reason}`, {
    advice:
      isFull || isThere
        ? 'Pass --replace to replace the existing data. Back up the database first with `platform db export`.'
        : null,
  });
}

/** Retries broken connections, but not refused requests. */
async function again<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const mayGoOn = error instanceof CliError && (error.code === null || error.code === 'unavailable');
      if (!mayGoOn || attempt === ATTEMPTS_MAX) throw error;
      await sleep(PAUSE_MS * 2 ** attempt);
    }
  }
}

function inMemory(bytes: Uint8Array): Source {
  return {
    bytes: bytes.byteLength,
    read: (offset, length) => new Uint8Array(bytes.subarray(offset, offset + length)),
    close() {},
  };
}

function onDisk(file: string): Source {
  try {
    const descriptor = openSync(file, 'r');
    const bytes = fstatSync(descriptor).size;
    return {
      bytes,
      read(offset, length) {
        const piece = new Uint8Array(length);
        return piece.subarray(0, readSync(descriptor, piece, 0, length, offset));
      },
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, { exitCode: 2 });
  }
}

/** Refuses a SQLite file that has a WAL or journal file. */
function refuseUnwritten(name: string, file: string): void {
  for (const part of ['-wal', '-journal']) {
    if ((statSync(file + part, { throwIfNoEntry: false })?.size ?? 0) === 0) continue;
    throw new CliError(`${name} is incomplete: ${name}${part} contains newer changes`, {
      exitCode: 2,
      advice: `Close the program that uses it, or make a copy: sqlite3 ${name} ".backup copy.sqlite"`,
    });
  }
}
