// The platform that runs on this machine: `platform start` has it leave a record in `~/.platform/local/`
// (runtime/supervisor/ local-record.ts), and the commands find it there, whatever folder they are called in. A record
// whose platform does not answer is stale.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../terminal/failure.ts';
import { userFolder, type HandlerAddress } from './locations.ts';
import type { Shell } from '../terminal/shell.ts';

/** Where a platform keeps its data and answers. */
export interface LocalPlatform extends HandlerAddress {
  readonly folder: string;
  /** Null: it does not run (or is not known to), and serves what is published when it starts. */
  readonly running: Running | null;
}

/** A platform that answers. */
interface Running {
  readonly pid: number;
  /** Null where its private port is off. */
  readonly privateOrigin: string | null;
  readonly token: string;
}

interface LocalRecord extends Running {
  readonly folder: string;
  readonly port: number;
  readonly domain: string;
  /** Origin of its API, and the token of its owner; not there where it has none. */
  readonly apiOrigin?: string | null;
  readonly apiToken?: string | null;
}

/** One that is gone refuses at once; one on a busy machine answers late. */
const ANSWER_MS_MAX = 20_000;

/** The file in which the platform of a data folder leaves its record. */
export function recordFile(shell: Shell, folder: string): string {
  return path.join(
    userFolder(shell),
    'local',
    `${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.json`,
  );
}

/**
 * The platform that commands are for: the one of `FS_PATH` where that is set (running or not), else the one that runs.
 *
 * @param address where one of `FS_PATH` would answer.
 * @throws {CliError} when none runs, or more than one.
 */
export async function findPlatform(shell: Shell, address: () => HandlerAddress): Promise<LocalPlatform> {
  const set = shell.env['FS_PATH'];
  if (set !== undefined && set !== '') {
    const folder = path.resolve(shell.cwd, set);
    const record = readRecord(recordFile(shell, folder));
    if (record !== null && (await answers(record))) return toPlatform(record);
    return { ...address(), folder, running: null };
  }
  const records = readRecords(shell);
  const alive = (await Promise.all(records.map(answers))).flatMap((answer, at) => (answer ? [records[at]!] : []));
  if (alive.length === 1) return toPlatform(alive[0]!);
  if (alive.length === 0) {
    const stale =
      records[0] === undefined ? '' : `. The one that had its data in ${records[0].folder} does not answer any more`;
    throw new CliError(`No platform of yours runs on this machine${stale}`, {
      advice:
        'Start it: `npm start` in the clone of the platform. FS_PATH=<data folder> names one that is to be started later.',
    });
  }
  throw new CliError(`More than one platform runs on this machine: ${alive.map(inWords).join('; ')}`, {
    advice: `Name the one you mean by its data folder: FS_PATH=${alive[0]!.folder}`,
  });
}

/** The API of a platform that runs on this machine, and its owner's token. */
export interface LocalApi {
  readonly origin: string;
  readonly token: string;
  /** Data folder. */
  readonly folder: string;
}

/** The APIs that run on this machine: that of `FS_PATH` where it is set, else all of them. */
export async function localApis(shell: Shell): Promise<LocalApi[]> {
  const set = shell.env['FS_PATH'];
  const records = set
    ? [readRecord(recordFile(shell, path.resolve(shell.cwd, set)))].filter((record) => record !== null)
    : readRecords(shell);
  const found = await Promise.all(
    records.map(async (record) => {
      const { apiOrigin: origin, apiToken: token, folder } = record;
      return origin != null && token != null && (await answers(record)) ? [{ origin, token, folder }] : [];
    }),
  );
  return found.flat();
}

/** @example 'port 4001 (data in /srv/platform, process 4711)' */
export function inWords({ port, folder, pid }: Pick<LocalRecord, 'port' | 'folder' | 'pid'>): string {
  return `port ${port} (data in ${folder}, process ${pid})`;
}

function toPlatform({ folder, port, domain, pid, privateOrigin, token }: LocalRecord): LocalPlatform {
  return { folder, port, domain, running: { pid, privateOrigin, token } };
}

function readRecords(shell: Shell): LocalRecord[] {
  const folder = path.join(userFolder(shell), 'local');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  return names.sort().flatMap((name) => readRecord(path.join(folder, name)) ?? []);
}

function readRecord(file: string): LocalRecord | null {
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as LocalRecord & { version: unknown };
    return record.version === 1 && typeof record.folder === 'string' && Number.isInteger(record.port) ? record : null;
  } catch {
    return null;
  }
}

/** Whether what the record says is true now: its process answers, by the private port where there is one. */
async function answers({ pid, port, privateOrigin, token }: LocalRecord): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    const url = privateOrigin === null ? `http://127.0.0.1:${port}/` : `${privateOrigin}/_platform/status`;
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await answer.text();
    return privateOrigin === null || (JSON.parse(text) as { pid?: unknown }).pid === pid;
  } catch {
    return false;
  }
}

/** An answer of the private port: its status, and its JSON. */
interface PrivateAnswer<Body> {
  readonly status: number;
  readonly body: Body;
}

/**
 * Asks the private port of a platform that runs.
 *
 * @throws {CliError} when it is off or does not answer.
 */
export async function askPlatform<Body>(
  { running }: LocalPlatform,
  route: string,
  options: { readonly body?: unknown; readonly waitMs?: number } = {},
): Promise<PrivateAnswer<Body>> {
  if (running === null)
    throw new CliError('The platform does not run', { advice: 'Start it: `npm start` in its clone.' });
  if (running.privateOrigin === null)
    throw new CliError('The private port of the platform is off', {
      advice: 'Start it without HANDLER_PRIVATE_PORT=off.',
    });
  const { body, waitMs = 30_000 } = options;
  try {
    const answer = await fetch(`${running.privateOrigin}${route}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${running.token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(waitMs),
    });
    return { status: answer.status, body: (await answer.json()) as Body };
  } catch (error) {
    throw new CliError(`The platform does not answer on its private port: ${(error as Error).message}`, {
      advice: `Look at ${running.privateOrigin}/_platform/health and at what \`npm start\` prints.`,
    });
  }
}
