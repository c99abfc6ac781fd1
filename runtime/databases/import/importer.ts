// Main module of an importer: the process that imports one file into one database, in one transaction, and exits.
// Started and ended by service/imports.ts; its own watchdog ends it when a statement takes too long. Reads no
// environment.
import { openSync, readSync, closeSync, statfsSync, statSync, mkdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { StorageGuard } from '#core/storage-left.ts';
import { field, newMemory } from '../shard/running.ts';
import { Connection } from '../sqlite/connection.ts';
import { bulkStatementBytesMax } from '../sqlite/connection-settings.ts';
import { isDamaged } from '../sqlite/copies.ts';
import { explainFull, toRefusal } from '../sqlite/sqlite-errors.ts';
import { ImportTransaction, type Imported } from './import-transaction.ts';
import { StatementReader, textOf } from './sql-file.ts';
import { attach, explained, isSqliteFile, takeFile } from './sqlite-file.ts';
import type { Watch } from './watched-statements.ts';

/** The argument, as JSON. */
export interface ImporterOptions {
  /** Path of the database. */
  readonly path: string;
  /** The file to import; null means that it only truncates the log left by an import that was ended. */
  readonly file: string | null;
  /** Existing content is deleted first. */
  readonly replace: boolean;
  /** Namespace that owns the database. */
  readonly namespace: string;
  /** Folder with the organizations' remaining storage; null means no limit. */
  readonly dataFolder: string | null;
  readonly limits: DatabaseLimits;
  readonly synchronous: 'normal' | 'full';
}

/** Messages of the importer to its parent. */
export type ImporterMessage =
  | { readonly type: 'progress'; readonly statements: number; readonly done: number; readonly total: number }
  /** From this message on, the importer must not be killed, because the outcome would be unknown. */
  | { readonly type: 'committing' }
  | ({ readonly type: 'done' } & Imported)
  | {
      readonly type: 'failed';
      readonly code: string;
      readonly reason: string;
      readonly line: number | null;
      readonly statement: string | null;
    };

/** Lower priority than processes that serve requests. */
const NICE = 10;
const TELL_MS = 200;
const HEAD_BYTES = 16;

const options = JSON.parse(process.argv[2] ?? '') as ImporterOptions;
const { limits } = options;
const storage = new StorageGuard(options.dataFolder);
const memory = newMemory();
const view = new Int32Array(memory);
const script = path.join(import.meta.dirname, `../shard/watchdog${path.extname(import.meta.filename)}`);
const watchdog = new Worker(script, { workerData: { memory, memoryMb: limits.statementMemoryMb } });
watchdog.on('error', (error) => {
  process.stderr.write(`databases: the watchdog failed: ${error.message}\n`);
  process.exit(1);
});
// Uncommitted changes are lost when the process exits.
process.on('disconnect', () => process.exit(1));
process.on('SIGINT', () => {});

const tell = (message: ImporterMessage): Promise<void> =>
  new Promise((resolve) => void process.send?.(message, undefined, {}, () => resolve()));

/** Only operations whose duration grows with the data may take as long as the whole import. */
const watch: Watch = (isLong, run) => {
  view[field.limit] = isLong ? limits.importMs : limits.statementMs;
  Atomics.add(view, field.turn, 1);
  try {
    return run();
  } finally {
    Atomics.add(view, field.turn, 1);
  }
};

async function run(): Promise<void> {
  mkdirSync(path.dirname(options.path), { recursive: true, mode: 0o700 });
  if (isDamaged(options.path)) throw new SqlRefusal('SQLITE_CORRUPT', 'the database is damaged: restore a backup');
  const connection = new Connection({ ...options, isBulk: true });
  try {
    if (options.file !== null) await tell({ type: 'done', ...(await take(connection, options.file)) });
  } finally {
    if (connection.inTransaction) connection.own('ROLLBACK');
    settle(connection);
    connection.close();
  }
}

/** Moves the log into the file and truncates it, unless a reader takes too long. */
function settle(connection: Connection): void {
  try {
    connection.own('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    process.stderr.write(`databases: the log of an import was not truncated: ${(error as Error).message}\n`);
  }
}

async function take(connection: Connection, file: string): Promise<Imported> {
  const space = new FreeSpace(path.dirname(path.dirname(options.path)), limits.diskFreeBytesMin, statfsSync);
  const { bytes } = connection;
  connection.bytesMax = bytes + storage.left(options.namespace);
  const isFile = isSqliteFile(headOf(file));
  if (isFile) attach(connection, file);
  const before = inodeOf(options.path);
  const transaction = new ImportTransaction(connection, watch);
  if (options.replace) transaction.empty();
  else if (isFile && !transaction.isEmpty)
    throw new SqlRefusal('SQLITE_MISUSE', 'the database is not empty: importing a SQLite file replaces all of it');
  let toldAt = 0;
  const progress = async (done: number, total: number): Promise<void> => {
    connection.bytesMax = space.isLow ? 0 : bytes + storage.left(options.namespace);
    if (performance.now() - toldAt < TELL_MS) return;
    toldAt = performance.now();
    await tell({ type: 'progress', statements: transaction.statements, done, total });
  };
  try {
    if (isFile) await takeFile(connection, transaction, progress);
    else await takeText(transaction, file, progress);
  } catch (error) {
    throw isFile ? explained(error) : error;
  }
  transaction.check();
  await tell({ type: 'committing' });
  const imported = transaction.commit();
  if (inodeOf(options.path) !== before)
    throw new SqlRefusal('SQLITE_ABORT', 'the database was replaced or removed during the import: import again');
  return imported;
}

async function takeText(
  transaction: ImportTransaction,
  file: string,
  progress: (done: number, total: number) => Promise<void>,
): Promise<void> {
  const reader = new StatementReader(bulkStatementBytesMax(limits));
  try {
    for await (const { text, bytes, total } of textOf(file)) {
      for (const statement of reader.push(text)) transaction.take(statement);
      await progress(bytes, total);
    }
    for (const statement of reader.end()) transaction.take(statement);
  } catch (error) {
    const { code, message, place } = toRefusal(error);
    throw new SqlRefusal(code, message, place ?? [reader.line, '']);
  }
}

function headOf(file: string): Uint8Array {
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.subarray(0, readSync(descriptor, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}

function inodeOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.ino ?? null;
}

setPriority(NICE);
try {
  await run();
} catch (error) {
  await tell(failureOf(error));
}
process.exit(0);

function failureOf(error: unknown): ImporterMessage {
  try {
    const { code, message, place } = explainFull(toRefusal(error), storage.refusal(options.namespace));
    return { type: 'failed', code, reason: message, line: place?.[0] ?? null, statement: place?.[1] ?? null };
  } catch {
    process.stderr.write(
      `databases: an import failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}\n`,
    );
    const reason = 'the file or the database cannot be read';
    return { type: 'failed', code: 'SQLITE_IOERR', reason, line: null, statement: null };
  }
}
