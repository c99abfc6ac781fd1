// Finds the platform on this machine by its record in `~/.platform/local/`, written by `platform start`
// (runtime/supervisor/data-folder/local-record.ts). A record is stale if its platform does not respond.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../terminal/failure.ts';
import { userFolder, type HandlerAddress } from './locations.ts';
import type { Shell } from '../terminal/shell.ts';

/** A local platform: data folder and address. */
export interface LocalPlatform extends HandlerAddress {
  readonly folder: string;
  /** The running platform; null if no platform is known to run. Deployments are then served after its next start. */
  readonly running: Running | null;
}

/** A running platform. */
interface Running {
  readonly pid: number;
  /** Origin of the private port; null if the port is off. */
  readonly privateOrigin: string | null;
  readonly token: string;
}

interface LocalRecord extends Running {
  readonly folder: string;
  readonly port: number;
  readonly domain: string;
  /** Origin of the platform's API, and the owner's token for it; missing if the platform has no API. */
  readonly apiOrigin?: string | null;
  readonly apiToken?: string | null;
}

/** A stopped platform refuses immediately; a platform on a busy machine responds late. */
const ANSWER_MS_MAX = 20_000;

/** The record file of a data folder's platform. */
export function recordFile(shell: Shell, folder: string): string {
  return path.join(
    userFolder(shell),
    'local',
    `${createHash('sha256').update(folder).digest('hex').slice(0, 16)}.json`,
  );
}

/**
 * The platform of commands: the platform of `FS_PATH` if it is set (running or not), else the running platform.
 *
 * @param address the address of the platform of `FS_PATH`.
 * @throws {CliError} if no platform is running, or several are.
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
    const stale = records[0] === undefined ? '' : `. The one with its data in ${records[0].folder} has stopped`;
    throw new CliError(`No platform is running on this machine${stale}`, {
      advice:
        'Start a platform: `npm start` in the clone of the platform. To use a platform that starts later, set FS_PATH=<data folder>.',
    });
  }
  throw new CliError(`More than one platform runs on this machine: ${alive.map(inWords).join('; ')}`, {
    advice: `Choose a platform by its data folder, for example FS_PATH=${alive[0]!.folder}`,
  });
}

/** API and owner's token of a local platform. */
interface LocalApi {
  readonly origin: string;
  readonly token: string;
  /** Data folder. */
  readonly folder: string;
}

/** APIs running on this machine: the API of `FS_PATH` if it is set, otherwise all of them. */
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

/** Whether a record is current: its process responds, on the private port if there is one. */
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

/** Response of the private port. */
interface PrivateAnswer<Body> {
  readonly status: number;
  readonly body: Body;
}

/**
 * Calls the private port of a running platform.
 *
 * @throws {CliError} if the port is off or does not respond.
 */
export async function askPlatform<Body>(
  { running }: LocalPlatform,
  route: string,
  options: { readonly body?: unknown; readonly waitMs?: number } = {},
): Promise<PrivateAnswer<Body>> {
  if (running === null)
    throw new CliError('The platform is not running', { advice: 'Start the platform: `npm start` in its clone.' });
  if (running.privateOrigin === null)
    throw new CliError('The private port of the platform is disabled', {
      advice: 'Start the platform without HANDLER_PRIVATE_PORT=off.',
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
    throw new CliError(`The platform does not respond on its private port: ${(error as Error).message}`, {
      advice: `See ${running.privateOrigin}/_platform/health and the output of \`npm start\`.`,
    });
  }
}
